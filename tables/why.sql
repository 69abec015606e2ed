-- why: the chain of causes of everything that lives. Step 0 is the request that created the object, step 1 the
-- change that request reacted to, and so on; the last step is what a person asked for.
--
-- view: why
--
-- A recursive view over all keys would be computed whole before one key is picked. Here the recursion
-- stands inside of json_each and begins at one row of live, so a look-up by key (or by resource,
-- namespace and name together) walks one chain. The chain follows request.cause_revision, which
-- compaction keeps for what lives; object falls back to the first key of the request
-- when the row itself is gone.

CREATE VIEW why AS
SELECT
  l.namespace,
  l.resource,
  l.name,
  step.key AS step,
  {{time r.at}} AS at,
  r.user,
  r.agent,
  r.verb,
  {{named step.value ->> '$.key'}} AS object,
  r.path,
  r.revision,
  l.key
FROM resource AS p JOIN live AS l
  -- says nothing new, but lets SQLite make the key of resource, namespace and name
  ON l.api_group = p.api_group AND l.resource = p.resource
    AND l.key = p.prefix || iif(l.namespace = '', '', l.namespace || '/') || l.name
JOIN json_each((
  WITH RECURSIVE chain(step, key, request_id) AS (
    SELECT 0, l.key, l.create_request_id
    UNION ALL
    SELECT step + 1, {{causekey effect}}, cause.id
    FROM chain JOIN request AS effect ON effect.id = chain.request_id
      JOIN request AS cause ON cause.revision = effect.cause_revision
    -- a cause is older than its effect, so this ends; but nobody should wait for a damaged file
    WHERE effect.cause_revision < effect.revision
  )
  SELECT json_group_array(json_object('key', key, 'request', request_id)) FROM chain
)) AS step
JOIN request AS r ON r.id = step.value ->> '$.request';
