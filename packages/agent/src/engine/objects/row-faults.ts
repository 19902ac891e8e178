/** Faults of rows in words: where they are, and what does not fit. */
import { type FileLoad, type ObjectLoad, PermanentFault } from '@headgate/pipelines';
import type { FetchedFile, StoredObject } from '../../stores/object-store.ts';
import { nameFile } from '../files/files.ts';
import type { Session } from '../session/session.ts';

/** A fetched file, and its object. */
export interface LoadedFile extends FetchedFile {
  object: StoredObject;
  /** `s3://bucket/key`, and the name in an archive. */
  name: string;
}

/** The statement that loads a file failed, and with it the transaction. */
export class FailedFile extends Error {
  readonly file: LoadedFile;
  constructor(file: LoadedFile, cause: unknown) {
    super('a file was not loaded', { cause });
    this.file = file;
  }
}

/** Bytes for which the memory of any warehouse is enough. */
const longRecord = 16 * 1_048_576;

/** A row of `FileLoad.listMisfits`. */
export function describeMisfit(
  [number, column, value, type]: readonly unknown[],
  { name }: LoadedFile,
  { format }: ObjectLoad,
): string {
  const skipped = format.type === 'CSV' ? format.skippedLines : 0;
  const after = skipped === 0 ? '' : ` after ${skipped === 1 ? 'the header' : `${skipped} skipped lines`}`;
  return `${name}, row ${number}${after}: ${JSON.stringify(value)} does not fit the column "${column}" (${type})`;
}

/** What the warehouse says of a line that it cannot divide into values. */
export function describeBroken(message: string): string {
  const [, expected, found] = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(message) ?? [];
  if (found !== undefined) return `it has ${found} values, and ${expected} columns are loaded`;
  if (message.includes('unterminated quote')) return 'a value begins with a quote that does not end';
  if (/invalid unicode/i.test(message))
    return 'it has bytes that are no character in UTF-8: set "encodingType", or "replaceInvalidCharacters" to Yes';
  if (message.includes('invalid state'))
    return 'a quote stands in a value that is not enclosed, or lines end in different ways';
  return message.split('\n', 1)[0]?.replace(/[.]$/, '') ?? '';
}

/**
 * The same failure with the line or the row and the column. The warehouse names only the value.
 *
 * @param warehouse outside of the transaction, which is over
 */
export async function explainFailure(
  { file, cause }: FailedFile,
  load: ObjectLoad,
  plan: FileLoad,
  warehouse: Pick<Session, 'query'>,
  remedy = 'nothing was loaded: correct the object, or set "onError" to Continue or Skip File',
): Promise<unknown> {
  const message = cause instanceof Error ? cause.message : String(cause);
  const [, line] = /CSV Error on Line: (\d+)/.exec(message) ?? [];
  if (line !== undefined)
    return new PermanentFault(`${file.name}, line ${line}: ${describeBroken(message)}; ${remedy}`);
  if (/CSV Parser state machine/.test(message))
    return new PermanentFault(`${file.name}: ${describeBroken('invalid state')}; ${remedy}`);
  if (/does not currently support|currently does not support a full read/.test(message))
    return new PermanentFault(`${file.name}: a row is too long to be read; ${remedy}`);
  if (/Out of Memory/i.test(message) && load.format.type === 'JSON' && file.longestLine > longRecord)
    return new PermanentFault(
      `${file.name} has a record of ${Math.round(file.longestLine / 1_048_576)} MiB, for which the warehouse has not enough memory: set "stripOuterArray" to Yes if it is an array of records, write smaller records, or ask the operator of the agent for a larger HEADGATE_AGENT_WAREHOUSE_MEMORY_MB`,
    );
  const found = await warehouse.query(plan.listMisfits(file.path, 1), 1).catch(() => undefined);
  const [misfit] = found?.rows ?? [];
  if (misfit !== undefined) return new PermanentFault(`${describeMisfit(misfit, file, load)}; ${remedy}`);
  const error = cause instanceof Error ? cause : new Error(message);
  error.message = `${file.name} was not loaded: ${message}`;
  return nameFile(error, file);
}
