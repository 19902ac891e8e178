import type { AccountEvent } from '../../kernel/database/events.ts';
import type { ConnectionRow } from './connection.store.ts';

export function buildConnectionEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: ConnectionRow,
  states: { before?: object; after?: object },
): AccountEvent {
  return {
    name,
    projectId,
    subject: { type: 'connection', id: row.connection_id, name: row.name },
    ...states,
  };
}
