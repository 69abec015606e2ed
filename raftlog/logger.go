package raftlog

import (
	"context"
	"fmt"
	"log/slog"
)

// logger gives Raft's log lines to slog. What Raft calls info happens at
// every start, so it is debug here.
type logger struct{ log *slog.Logger }

func (l logger) print(level slog.Level, text func() string) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "raft: "+text())
	}
}

func (l logger) Debug(v ...any) {
	l.print(slog.LevelDebug-1, func() string { return fmt.Sprint(v...) })
}
func (l logger) Debugf(f string, v ...any) {
	l.print(slog.LevelDebug-1, func() string { return fmt.Sprintf(f, v...) })
}
func (l logger) Info(v ...any) { l.print(slog.LevelDebug, func() string { return fmt.Sprint(v...) }) }
func (l logger) Infof(f string, v ...any) {
	l.print(slog.LevelDebug, func() string { return fmt.Sprintf(f, v...) })
}
func (l logger) Warning(v ...any) { l.print(slog.LevelWarn, func() string { return fmt.Sprint(v...) }) }
func (l logger) Warningf(f string, v ...any) {
	l.print(slog.LevelWarn, func() string { return fmt.Sprintf(f, v...) })
}
func (l logger) Error(v ...any) { l.print(slog.LevelError, func() string { return fmt.Sprint(v...) }) }
func (l logger) Errorf(f string, v ...any) {
	l.print(slog.LevelError, func() string { return fmt.Sprintf(f, v...) })
}

// Fatal and Panic mean that the log contradicts itself: to go on would spread the damage.
func (l logger) Fatal(v ...any)            { panic("raft: " + fmt.Sprint(v...)) }
func (l logger) Fatalf(f string, v ...any) { panic("raft: " + fmt.Sprintf(f, v...)) }
func (l logger) Panic(v ...any)            { panic("raft: " + fmt.Sprint(v...)) }
func (l logger) Panicf(f string, v ...any) { panic("raft: " + fmt.Sprintf(f, v...)) }
