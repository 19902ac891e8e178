/** Writes the rows of a query to a file, also from a warehouse that reaches no files. */
import type { CopyDialect, FileFormat } from '@headgate/pipelines';
import type { RunContext } from '../context/run-context.ts';
import type { Session } from '../session/session.ts';

export interface WrittenRows {
  query: string;
  format: FileFormat;
}

type Context = Pick<RunContext, 'dialect' | 'ports' | 'limit'>;

/** No file gets this name. */
const copiedName = '.copied';
const columnLimit = 10_000;

/** @param path of a partial file */
export async function writeRows(
  { query, format }: WrittenRows,
  path: string,
  warehouse: Session,
  context: Context,
): Promise<{ rowCount: number }> {
  const { dialect } = context;
  const { copy } = dialect;
  if (copy === undefined) return warehouse.execute(dialect.writeFile(query, path, format));
  if (format.type !== 'PARQUET') return warehouse.copy(copy.copyOut(query, format), { path, to: 'file' });
  return writeParquet(query, path, warehouse, { ...context, copy });
}

/** The rows go to a file of CSV, which the embedded database reads. */
async function writeParquet(
  query: string,
  path: string,
  warehouse: Session,
  { dialect, ports, limit, copy }: Context & { copy: CopyDialect },
): Promise<{ rowCount: number }> {
  const from = `(\n${query}\n) AS "rows"`;
  const { columns } = await warehouse.query(`SELECT * FROM ${from} LIMIT 0`, 1);
  const { rows } = await warehouse.query(dialect.columnTypes(from, columns), columnLimit);
  const types = rows.map(([name, type]) => ({ name: String(name), type: copy.betweenType(String(type)) }));
  const plain = await ports.files.beginWrite(copiedName);
  try {
    const format = { type: 'CSV', header: false, delimiter: ',' } as const;
    const written = await warehouse.copy(copy.copyOut(query, format), { path: plain, to: 'file' });
    const read = `SELECT * FROM ${copy.readCopied(plain, types)}`;
    await ports.between.execute(copy.between.writeFile(read, path, { type: 'PARQUET' }), undefined, limit);
    return written;
  } finally {
    await ports.files.endWrite(plain, false);
  }
}
