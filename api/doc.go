// Package api is the HTTP front end: every request enters here and passes the
// same chain before a handler sees it.
//
//	recover -> audit id -> what is asked (RequestInfo) -> until when (deadline) -> who asks (authentication)
//	        -> audit -> as whom (impersonation) -> under which FlowSchema -> is there room (in flight)
//	        -> may he (authorization) -> route
//
// Requests for resources go on to api/rest; the rest of the paths belong to
// handlers that the server is given by prefix (discovery, OpenAPI, streams),
// and to the few files here: health, version, metrics.
//
// Why this shape: httprouter knows only catch-all routes. Which resources are
// served changes while the server runs, and specific routes beside generic
// ones would conflict, so a path is resolved by RequestInfo and the registry.
//
// Hardest part: the end. A graceful shutdown must end watches, which never end
// by themselves, before it waits for requests (server.go, Shutdown).
//
// What can be lost: requests under way when the process dies; none of them
// has been answered. With them go the lines of the audit log that were not yet
// written, a moment's worth: a request waits only when the log falls behind.
package api
