-- clock: the time that every AGE is measured against, in whole unix seconds.
--
-- view: clock
--
-- Watches, old revisions and golden files need a time that stands still: a row in clock_pin
-- stops the clock. unixepoch() is the same throughout one step of one statement.

CREATE VIEW clock AS
SELECT coalesce((SELECT max(now) FROM clock_pin), unixepoch()) AS now;
