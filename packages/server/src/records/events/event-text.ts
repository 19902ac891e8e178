/** The text of a stream of events (HTML Living Standard, Server-sent events). */
import { renderCursor } from './log/event-cursor.ts';
import type { LoggedEvent } from './log/event-log.ts';
import { presentEvent } from './log/event-row.ts';

/** Why a stream ends. */
export type StreamEnd =
  | 'token-expired'
  | 'forbidden'
  | 'events-removed'
  | 'time-over'
  | 'shutdown'
  | 'unavailable';

/** JSON has no line breaks, so `data` is one line. */
export function renderEvents(events: readonly LoggedEvent[]): string {
  return events
    .map((event) => `id: ${renderCursor(event.position)}\ndata: ${JSON.stringify(presentEvent(event))}\n\n`)
    .join('');
}

export function renderEnd(reason: StreamEnd): string {
  return `event: end\ndata: ${JSON.stringify({ reason })}\n\n`;
}
