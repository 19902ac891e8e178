/** A request that succeeds for each operation on events. */
import type { Examples } from '../../../testing/place.ts';

const day = 86_400_000;

export const eventExamples: Examples = {
  streamEvents: () => ({ path: '/events/stream?after=oldest&seconds=0&eventName=project-created' }),
  listEvents({ now }) {
    const [from, to] = [-day, day].map((away) => new Date(now.getTime() + away).toISOString());
    return { path: `/events?from=${from}&to=${to}&eventName=override-written` };
  },
};
