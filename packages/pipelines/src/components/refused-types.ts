/**
 * Known types that fail by name, because a pipeline would give wrong results without them (docs/adr/0048).
 * Each has the remedy.
 */
const unmigrated =
  'is an unmigrated component, which the vendor’s migration left over: replace it by the component that it was, or skip it';
const transactions =
  'is not supported, because components do not share a transaction: put the statements into one sql-script with BEGIN and COMMIT';
const external =
  'is not supported, because the embedded warehouse has no external tables: load the files with file-load or s3-load';
const stream =
  'is not supported, because the embedded warehouse does not record changes: compare the rows with detect-changes';

const refusedTypes: Readonly<Record<string, string>> = {
  'unknown-orchestration': unmigrated,
  'unknown-transformation': unmigrated,
  begin: transactions,
  commit: transactions,
  rollback: transactions,
  'create-external-table': external,
  'create-stream': stream,
  'stream-input': stream,
};

/** Why a type fails, as the end of a sentence; undefined if it is not known. */
export function findRefusal(shortType: string): string | undefined {
  return Object.hasOwn(refusedTypes, shortType) ? refusedTypes[shortType] : undefined;
}
