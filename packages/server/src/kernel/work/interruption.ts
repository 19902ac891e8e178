/** Work that took its server down, or blocked it for longer than its lease, must not do so for ever (docs/adr/0076). */

/** From this count on, the work is not tried again. */
export const mostInterruptions = 2;

/**
 * A step that blocked the event loop for this long counts as an interruption, too. Shorter gaps can come from a machine
 * that is busy with something else.
 */
export const longestBlockMilliseconds = 5_000;

/** For people: why nothing more happens. */
export const describeInterruption = (what: string) =>
  `${what} was set aside: a server stopped or was blocked while it worked on it, ${mostInterruptions} times in a row. The operator finds what happened in the log of the servers.`;
