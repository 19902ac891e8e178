/** The end of a write: the event of a push, and the delivery rules of its branches. */
import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { type EventSource, recordEvents } from '../../kernel/database/events.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { endWriteRow, type RefChange, wakeDeliveryRules } from './hosted.store.ts';

/** An event names this many refs, and counts the others. */
const mostNamed = 100;

export interface Recorded {
  source: EventSource;
  /** What git has moved; nothing is recorded if it moved nothing. */
  changes: readonly RefChange[];
  /** Those whose rules are woken; by default all. */
  standing?: readonly RefChange[];
}

export async function recordWrite(
  { database, clock, newId }: { database: Database; clock: Clock; newId: NewId },
  at: { accountId: string; projectId: string; writeId: string },
  { source, changes, standing = changes }: Recorded,
): Promise<void> {
  await database.transaction(async (tx) => {
    const name = await endWriteRow(tx, at);
    // Another server has recorded it, or the repository is gone.
    if (name === undefined || changes.length === 0 || source.actorId === null) return;
    const now = clock.now();
    const subject = { type: 'repository', id: at.projectId, name };
    const event = {
      name: 'repository-pushed',
      projectId: at.projectId,
      subject,
      after: describe(changes),
    } as const;
    recordEvents(tx, source, [event], now, newId);
    wakeDeliveryRules(tx, at, { changes: standing, by: source.actorId, now });
  });
}

function describe(changes: readonly RefChange[]): object {
  const refs = changes.slice(0, mostNamed);
  return { refs, ...(changes.length > mostNamed ? { moreRefs: changes.length - mostNamed } : {}) };
}
