import { sessionLimit } from '../engine/ports/run-messages.ts';
import type { WarehouseConnection } from '../warehouses/warehouse.ts';

/** A connection for each session of a run. Each connects at its first statement: many runs need no warehouse. */
export function createRunSessions(open: () => Promise<WarehouseConnection>): WarehouseConnection {
  const sessions = new Map<number, Promise<WarehouseConnection>>();
  let isClosed = false;
  function connect(session = 0): Promise<WarehouseConnection> {
    if (isClosed) throw new Error('this connection to the warehouse is closed');
    if (!(Number.isInteger(session) && session >= 0 && session < sessionLimit))
      throw new Error(`a run has no session ${session} with its warehouse`);
    const connected = sessions.get(session) ?? open();
    sessions.set(session, connected);
    // The next statement tries again.
    connected.catch(() => sessions.delete(session));
    return connected;
  }
  return {
    execute: async (sql, session, limit) => (await connect(session)).execute(sql, session, limit),
    query: async (sql, maxRows, session, limit) =>
      (await connect(session)).query(sql, maxRows, session, limit),
    queryText: async (sql, maxRows, session, limit) =>
      (await connect(session)).queryText(sql, maxRows, session, limit),
    async close() {
      isClosed = true;
      const opened = await Promise.allSettled(sessions.values());
      await Promise.all(opened.map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined)));
    },
  };
}
