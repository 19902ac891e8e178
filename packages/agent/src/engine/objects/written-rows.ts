/** Writes the rows of a query to a file, also from a warehouse that reaches no files. */
import { type CopyDialect, type FileFormat, PermanentFault } from '@headgate/pipelines';
import type { RunContext } from '../context/run-context.ts';
import type { Session } from '../session/session.ts';

export interface WrittenRows {
  query: string;
  format: FileFormat;
  /** Of the file, for those who read what ran. */
  name: string;
}

type Context = Pick<RunContext, 'dialect' | 'ports' | 'limit'>;

/** No file gets this name. */
const copiedName = '.copied';
const columnLimit = 10_000;

/** @param path of a partial file */
export async function writeRows(
  { query, format, name }: WrittenRows,
  path: string,
  warehouse: Session,
  context: Context,
): Promise<{ rowCount: number }> {
  const { dialect } = context;
  const { copy } = dialect;
  requireOneByte(format);
  if (copy === undefined) return warehouse.execute(dialect.writeFile(query, path, format));
  if (!isCopied(format)) return writeBetween({ query, format, name }, path, warehouse, { ...context, copy });
  const shown = copy.copyOut(query, format, name);
  return warehouse.copy(copy.copyOut(query, format), { path, to: 'file', shown });
}

/** COPY always encloses what needs it. */
const isCopied = (format: FileFormat): boolean =>
  format.type === 'JSON' || (format.type === 'CSV' && format.quote !== '');

/** Of more bytes, DuckDB writes the first, and PostgreSQL refuses them. @throws PermanentFault */
function requireOneByte(format: FileFormat): void {
  if (format.type !== 'CSV') return;
  const { delimiter, quote = '' } = format;
  for (const [what, text, example] of [
    ['separates', delimiter, ';'],
    ['encloses', quote, '"'],
  ] as const)
    if (Buffer.byteLength(text) > 1)
      throw new PermanentFault(
        `${JSON.stringify(text)}, which ${what} values, has ${Buffer.byteLength(text)} bytes: files are written with one byte, such as ${example}`,
      );
}

/** The rows go to a file of CSV, which the embedded database reads. */
async function writeBetween(
  { query, format, name }: WrittenRows,
  path: string,
  warehouse: Session,
  { dialect, ports, limit, copy }: Context & { copy: CopyDialect },
): Promise<{ rowCount: number }> {
  const from = `(\n${query}\n) AS "rows"`;
  const { columns } = await warehouse.query(`SELECT * FROM ${from} LIMIT 0`, 1);
  const { rows } = await warehouse.query(dialect.columnTypes(from, columns), columnLimit);
  // In CSV, values stay as the warehouse writes them.
  const types = rows.map(([column, type]) => ({
    name: String(column),
    type: format.type === 'CSV' ? 'VARCHAR' : copy.betweenType(String(type)),
  }));
  const plain = await ports.files.beginWrite(copiedName);
  try {
    const standard = { type: 'CSV', header: false, delimiter: ',' } as const;
    const shown = copy.copyOut(query, standard, name);
    const written = await warehouse.copy(copy.copyOut(query, standard), { path: plain, to: 'file', shown });
    const read = `SELECT * FROM ${copy.readCopied(plain, types)}`;
    await ports.between.execute(copy.between.writeFile(read, path, format), undefined, limit);
    return written;
  } finally {
    await ports.files.endWrite(plain, false);
  }
}
