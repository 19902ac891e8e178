/** The lineage of one step: of all statements that it ran. */

import { isOwnTable } from '../sql/statements/own-tables.ts';
import { type Token, TokenReader, UnterminatedError } from '../sql/tokens/tokens.ts';
import { adaptSql, UnreadableSql } from './adapt-sql.ts';
import { mergeColumns } from './changes.ts';
import type { Effect, Write } from './effect.ts';
import { findNamedTables } from './named-tables.ts';
import { duckdbLineage, type LineageDialect } from './naming/dialect.ts';
import type { ParseSql } from './parser.ts';
import {
  addSources,
  type Column,
  type FieldType,
  noSources,
  type Source,
  type Sources,
  type Table,
} from './query/relation.ts';
import { analyzeStatement } from './statement.ts';
import { type FindFields, type NameFile, type RunTables, StatementTables } from './tables.ts';

/** A table that the step wrote. */
export interface WrittenTable {
  readonly table: Table;
  readonly columns: readonly Column[] | undefined;
  readonly rows: Sources;
  readonly isReplaced: boolean;
  readonly isDropped: boolean;
  /** The step has made it; there was none of this name before. */
  readonly isNew: boolean;
}

export interface StepAnalysis {
  readonly inputs: readonly Table[];
  readonly outputs: readonly WrittenTable[];
  readonly gaps: readonly string[];
  /** Tables of the warehouse whose columns would say more. */
  readonly needed: ReadonlyMap<string, readonly string[]>;
}

export interface StepContext {
  /** Without it that of the embedded warehouse. */
  readonly dialect?: LineageDialect;
  /** Of this dialect. */
  readonly parse: ParseSql;
  readonly run: RunTables;
  /** The columns of the warehouse's tables. */
  readonly findFields: FindFields;
  /** The name of a file for its path in SQL. */
  readonly nameFile: NameFile;
}

/** @param statements SQL of the warehouse, in the order in which they ran */
export function analyzeStep(statements: readonly string[], context: StepContext): StepAnalysis {
  const { dialect = duckdbLineage, parse, run, findFields, nameFile } = context;
  const tables = new StatementTables(dialect, run, findFields, nameFile);
  const effects: Effect[] = [];
  let transaction: number | undefined;
  /** The number of effects before each of them. */
  const savepoints = new Map<string, number>();
  for (const sql of statements) {
    const [word = '', second = '', ...others] = readFirstWords(sql, dialect);
    const name = others.at(-1) ?? second;
    if (word === 'BEGIN' || word === 'START') transaction = effects.length;
    else if (word === 'SAVEPOINT') savepoints.set(second, effects.length);
    else if ((word === 'ROLLBACK' || word === 'ABORT') && [second, others[0]].includes('TO'))
      effects.length = savepoints.get(name) ?? effects.length;
    else if (word === 'ROLLBACK' || word === 'ABORT') effects.length = transaction ?? effects.length;
    else if (dialect.opaque.has(word))
      effects.push({ reads: new Set(), writes: [], gaps: [`what a statement ${word} did is not known`] });
    else if (word !== '' && !withoutLineage.has(word)) effects.push(...analyzeSql(sql, tables, parse));
    if (word === 'COMMIT' || word === 'END') transaction = undefined;
    if (dialect.setsPath(sql)) tables.setOwnPath();
  }
  return collect(effects, tables, findFields);
}

const withoutLineage = new Set(
  'COMMIT END SET RESET USE PRAGMA LOAD INSTALL ATTACH DETACH CHECKPOINT VACUUM ANALYZE EXPLAIN DESCRIBE DESC SHOW COMMENT PREPARE DEALLOCATE CALL GRANT REVOKE SAVEPOINT RELEASE LOCK LISTEN UNLISTEN NOTIFY DISCARD CLUSTER REINDEX'.split(
    ' ',
  ),
);

/** In upper case, at most so many as name a savepoint. */
function readFirstWords(sql: string, { rules }: LineageDialect): string[] {
  const reader = new TokenReader(sql, rules);
  const words: string[] = [];
  let token = readNext(reader);
  while (token?.value === '(') token = readNext(reader);
  for (; token?.kind === 'word' && words.length < 5; token = readNext(reader)) words.push(token.value);
  return words;
}

function readNext(reader: TokenReader): Token | undefined {
  try {
    return reader.next();
  } catch (error) {
    if (error instanceof UnterminatedError) return undefined;
    throw error;
  }
}

function analyzeSql(sql: string, tables: StatementTables, parse: ParseSql): Effect[] {
  try {
    const adapted = adaptSql(sql, tables.dialect);
    return parse(adapted.sql).map((statement) => analyzeStatement(statement, tables, adapted.isByName));
  } catch (error) {
    if (!(error instanceof UnreadableSql) && !(error instanceof RangeError)) throw error;
    const reason = error instanceof UnreadableSql ? error.message : 'the statement is nested too deeply';
    return [nameTables(sql, tables, reason)];
  }
}

/** Only the tables that the statement names. */
function nameTables(sql: string, tables: StatementTables, reason: string): Effect {
  const { dialect } = tables;
  const { reads, writes } = findNamedTables(sql, dialect);
  const isPlaced = (path: readonly string[]) =>
    !tables.isTemporary(path) && !dialect.isSystem(path) && !tables.isUnplaced(path);
  const known = reads.filter(isPlaced).map((path) => tables.get(path));
  // The values of a temporary table come from what its own statement read.
  for (const path of [...reads, ...writes])
    for (const { sources } of tables.findTemporary(path)?.columns ?? [])
      for (const { table } of sources.values()) known.push(table);
  return {
    reads: new Set(known),
    writes: writes
      .filter(isPlaced)
      .map((path) => ({ table: tables.get(path), columns: undefined, rows: noSources })),
    gaps: [`a statement is known by its tables only: ${reason}`],
  };
}

function collect(effects: readonly Effect[], tables: StatementTables, find: FindFields): StepAnalysis {
  const outputs = new Map<string, WrittenTable>();
  const inputs = new Map<string, Table>();
  const gaps = new Set<string>();
  const isOwn = ({ kind, path }: Table) => kind === 'warehouse' && isOwnTable(path.at(-1) ?? '');
  const addInput = (table: Table) => {
    const key = keyOf(table);
    if (isOwn(table)) return;
    if (!inputs.has(key)) inputs.set(key, table);
  };
  for (const effect of effects) {
    for (const gap of effect.gaps) gaps.add(gap);
    for (const table of effect.reads) addInput(table);
    for (const write of effect.writes) {
      if (isOwn(write.table)) continue;
      const key = keyOf(write.table);
      const { renamedFrom } = write;
      const made = renamedFrom && outputs.get(keyOf(renamedFrom));
      if (renamedFrom !== undefined && made?.isNew === true) {
        // Nothing else has seen it under its first name.
        outputs.delete(keyOf(renamedFrom));
        outputs.set(key, { ...made, table: write.table, isReplaced: true, isNew: !outputs.has(key) });
        continue;
      }
      outputs.set(key, addWrite(outputs.get(key), write));
      if (renamedFrom !== undefined) {
        addInput(renamedFrom);
        const dropped = { table: renamedFrom, columns: undefined, rows: noSources, isDropped: true } as const;
        outputs.set(keyOf(renamedFrom), addWrite(made, dropped));
      }
    }
  }
  for (const { columns, rows } of outputs.values())
    for (const sources of [...(columns ?? []).map((column) => column.sources), rows])
      for (const { table } of sources.values()) addInput(table);
  // Nothing has seen a table that the step made and dropped, unless it read it itself.
  for (const [key, { isNew, isDropped }] of outputs)
    if (isNew && isDropped && !inputs.has(key)) outputs.delete(key);
  const needed = new Map(tables.needed);
  const describe = <T extends Table>(table: T): T => {
    if (table.kind !== 'warehouse') return table;
    const fields: readonly FieldType[] | null | undefined = find(table.name);
    if (fields === undefined) needed.set(table.name, table.path);
    return { ...table, fields: fields ?? table.fields };
  };
  return {
    inputs: [...inputs.values()].map(describe),
    outputs: [...outputs.values()].map((output) => ({ ...output, table: describe(output.table) })),
    gaps: [...gaps],
    needed,
  };
}

export const keyOf = ({ kind, name }: Table): string => `${kind} ${name}`;

function addWrite(before: WrittenTable | undefined, write: Write): WrittenTable {
  const { table, columns, rows } = write;
  const [isReplaced, isDropped] = [write.isReplaced === true, write.isDropped === true];
  const isNew = write.isNew === true;
  // Other tables of the step may have its values.
  if (isDropped && before?.isNew === true) return { ...before, isDropped };
  if (before === undefined || isReplaced || isDropped)
    return { table, columns: columns && mergeColumns(columns), rows, isReplaced, isDropped, isNew };
  const merged = new Map<string, Source>(before.rows);
  addSources(merged, rows);
  const isKnown = columns !== undefined && before.columns !== undefined;
  return {
    table,
    columns: isKnown ? mergeColumns([...before.columns, ...columns]) : undefined,
    rows: merged,
    isReplaced: before.isReplaced,
    isDropped: false,
    isNew: before.isNew,
  };
}
