/** Queries of people and assistants, with a role that can only read. */
import type { PostgresSession } from './postgres/postgres-session.ts';
import type { ServerKind } from './postgres/server-kind.ts';
import type { ReadingConnection, ReadRows } from './warehouse.ts';

/** For one query: its transaction ends with its session, also if the SQL has ended it. */
export function createReadingConnection(
  session: PostgresSession,
  { beginReading, requireReadingSql }: Pick<ServerKind, 'beginReading' | 'requireReadingSql'>,
): ReadingConnection {
  return {
    async read(sql, { maxRows, maxBytes }, limit) {
      const statement = { limit, secret: undefined };
      requireReadingSql(sql);
      await session.run({ ...statement, sql: beginReading, isQuery: true, onRow: () => true });
      const rows: ReadRows['rows'] = [];
      let size = 0;
      let isCut = false;
      try {
        const { columns } = await session.run({
          ...statement,
          sql,
          isQuery: true,
          onRow(row) {
            size += Buffer.byteLength(JSON.stringify(row));
            isCut = rows.length === maxRows || size > maxBytes;
            if (!isCut) rows.push(row);
            return !isCut;
          },
        });
        return { columns, rows, isCut };
      } finally {
        await session.close();
      }
    },
    close: () => session.close(),
  };
}
