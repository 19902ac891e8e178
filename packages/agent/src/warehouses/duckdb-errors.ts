/** Rewrites DuckDB's error messages, which suggest settings that the agent has locked and tables that nobody made. */
import { decodeNames } from '@headgate/pipelines/user-sql';
import { getReason } from '../log.ts';
import { explainForeignFunction } from './foreign-functions.ts';
import { readWords } from './statements/sql-words.ts';

/**
 * Characters of a message, which may quote a value of any size. It is longer than what is searched for secrets
 * (`../secrets/masking.ts`), so that no secret is cut before it is masked.
 */
const messageLimit = 200_000;

/** @param sql the statement that failed */
export function explainError(
  error: unknown,
  { memoryMegabytes, processMegabytes }: { memoryMegabytes: number; processMegabytes: number },
  sql = '',
): string {
  // The stack trace of an internal error contains addresses and paths of this machine.
  const reason = cutAt(getReason(error).slice(0, messageLimit), /\nStack Trace:/);
  if (/max_temp_directory_size/.test(reason))
    return `${cutAt(reason, /\sThis limit was set/).replace(/\.$/, '')}; the disk space for spilling is limited: make the query smaller, or raise HEADGATE_AGENT_WAREHOUSE_TEMP_MB of the agent`;
  if (
    /^Out of Memory Error: (?:Allocation failure|Failed to allocate block of \d+ bytes \(bad allocation\))/.test(
      reason,
    )
  )
    return `the statement needs more memory than the ${processMegabytes} MB of the warehouse’s process: make its values smaller, or raise HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB of the agent`;
  const message = cutAt(reason, /\nPossible solutions:/);
  if (message !== reason || /^Out of Memory Error/.test(message)) {
    return `${message.trim()}; the warehouse has ${memoryMegabytes} MB: make the query smaller, or raise HEADGATE_AGENT_WAREHOUSE_MEMORY_MB of the agent`;
  }
  if (isDiskFull(reason))
    return 'the disk of the agent is full, so the statement changed nothing: free space, or delete tables that nobody needs, and start the run again';
  if (/configuration has been locked/.test(reason))
    return `settings cannot be changed in this warehouse: ${reason}. Use only SET VARIABLE, USE, SET schema and SET search_path`;
  if (/UNIQUE\/PRIMARY KEY CONSTRAINT(?:s| or INDEX)/i.test(reason))
    return 'ON CONFLICT and INSERT OR REPLACE need a unique index, because PRIMARY KEY and UNIQUE are not enforced: make one with CREATE UNIQUE INDEX, or use MERGE';
  if (/requires the extension httpfs to be loaded|httpfs extension/.test(reason))
    return 'SQL reads no addresses: load the file by the component file-load, with the address as its source, and then query the table';
  const [, missing = ''] = /Function with name "?(\w{1,100})"? does not exist/.exec(reason) ?? [];
  const foreign = explainForeignFunction(missing);
  if (foreign !== undefined) return foreign;
  if (/^Constraint Error: CHECK/.test(reason)) return explainLength(reason) ?? reason;
  if (/^Invalid Input Error: Error when sniffing file/.test(reason)) return explainUnknownFormat(reason);
  if (/CSV Error on Line: \d/.test(reason)) return explainWrongLine(reason);
  const [, lost] = undefinedAlias.exec(reason) ?? [];
  if (lost !== undefined)
    return `Binder Error: no table in FROM has the column "${lost}", and the alias "${lost}" in SELECT is not defined before it: correct the name`;
  const named = nameSchema(reason.replace(manyCandidates, ''), sql);
  return showNames(named).replace(proposal, leaveOutSystem);
}

/** The message ends with what the system says, after the path of a file. */
const isDiskFull = (reason: string) =>
  /^(?:IO|TransactionContext|FATAL) Error: /.test(reason) &&
  /: (?:No space left on device|Disk quota exceeded|File too large)\W{0,3}$/.test(reason.slice(-40));

/** Of `SELECT b AS b`, if there is no column b. */
// not SQL: a message of DuckDB
const undefinedAlias = /^Binder Error: Column "([^"\n]{1,300})" referenced that exists in the SELECT clause/;

/** DuckDB names a table that does not exist without the schema in which it was looked for. */
function nameSchema(reason: string, sql: string): string {
  const [, table] =
    /^Catalog Error: (?:Table|View) with name ([^\s"!.]{1,300}) does not exist!/.exec(reason) ?? [];
  if (table === undefined || sql.length > messageLimit) return reason;
  /** The names of a reference so far: `db.schema.table`. */
  let path: string[] = [];
  let isJoined = false;
  for (const { value, kind, from, to } of readWords(sql)) {
    if (kind === 'name' || kind === 'quoted') {
      const name = sql.slice(from, to).replaceAll('"', '');
      path = isJoined ? [...path, name] : [name];
      if (path.length > 1 && value === table.toLowerCase())
        return reason.replace(`with name ${table} `, () => `with name ${path.join('.')} `);
    } else if (value !== '.') path = [];
    isJoined = value === '.' && path.length > 0;
  }
  return reason;
}

const proposal = /\n{1,3}Did you mean "([^"\n]{1,1000})"\?/;

/** Of the names that DuckDB proposes, those that people made. */
function leaveOutSystem(whole: string, names: string): string {
  const own = names.split(' or ').filter((name) => !/^(?:pg_|pragma_|duckdb_|sqlite_)/.test(name));
  return own.length === 0 ? '' : whole.replace(names, () => own.join(' or '));
}

/** An operator has up to sixty. */
const manyCandidates = /\n\tCandidate functions:(?:\n\t[^\n]*){6,}\n?/;

/** Names as they were written. Messages of these kinds quote names so; other kinds quote values. */
function showNames(reason: string): string {
  if (!/^(?:Catalog|Binder|Dependency) Error:/.test(reason)) return reason;
  const end = reason.search(/\n\nLINE \d+:/);
  const words = end < 0 ? reason : reason.slice(0, end);
  return words.replaceAll(/"[^"\n]*"|(?<=with name )[^\s"]+/g, decodeNames) + reason.slice(words.length);
}

/** The rewriter gives columns of VARCHAR(n) a CHECK with an error. */
function explainLength(reason: string): string | undefined {
  const [, table] =
    /^Constraint Error: CHECK constraint failed on table ([^\n]{1,500}) with expression CHECK\(/.exec(
      reason,
    ) ?? [];
  const [, column] =
    / {1,2}WHEN \(\((?:length|strlen|strlen\(rtrim)\(("[^\n"]{1,300}"|\w{1,300})\)/.exec(reason) ?? [];
  const [, length, type] =
    /\(Error: (\d+ (?:characters|bytes)), and the column is ([A-Z ]+\d?\(\d+\))\)/.exec(reason) ?? [];
  if (table === undefined || column === undefined || length === undefined) return undefined;
  const name = column.replaceAll('"', '');
  return `a value for the column ${name} of the table ${table} has ${length}, and the column is ${type}: shorten the value, as in left(${name}, n), or make the column longer`;
}

/** The text before what matches, without the blanks at its end. */
function cutAt(text: string, pattern: RegExp): string {
  const at = text.search(pattern);
  return at < 0 ? text : text.slice(0, at).trimEnd();
}

/** A CSV file whose form is not what was asked for. DuckDB lists all that it tried. */
function explainUnknownFormat(reason: string): string {
  const [, file = ''] = /^Invalid Input Error: Error when sniffing file "([^"]*)"/.exec(reason) ?? [];
  const counts =
    /they contain: (\d+) columns\. It does not match the number of columns found by the sniffer: (\d+)/;
  const [, input, found] = counts.exec(reason) ?? [];
  if (input !== undefined && found !== undefined)
    return `the file "${file}" has ${found} ${found === '1' ? 'column' : 'columns'}, but ${input} are named: name each column of the file in its order, and check the delimiter`;
  return `the file "${file}" cannot be read as CSV: check the delimiter, the quotes and the number of cells in each line`;
}

/** A line of a CSV file that does not fit. DuckDB adds the settings of its reader. */
function explainWrongLine(reason: string): string {
  const lines = cutAt(reason, /\n[^\S\n]*file = /).split('\n');
  return lines
    .filter(
      (line) => !/^(?:\* |Possible fixes:|This type was either|Column \S+ is being converted)/.test(line),
    )
    .join('\n')
    .trim();
}
