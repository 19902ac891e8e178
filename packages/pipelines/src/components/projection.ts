/**
 * Selects that keep, compute, rename and filter columns. A chain of them becomes one SELECT if no part of it
 * reads what an earlier part changed: a chain of a thousand nested SELECTs is slow to plan.
 *
 * - **base**: the relation that the SELECT reads.
 * - **changed**: names that mean something else in the result than in the base.
 */

import type { Dialect } from '../sql/dialect/dialect.ts';
import { lexicalRules } from '../sql/tokens/tokens.ts';
import { isName, isSymbol, isWord } from '../sql/tokens/tree.ts';
import type { BaseColumn, ComputedColumn, Projection, Relation, Source } from './definition/component.ts';
import { readTokens } from './definition/operand.ts';
import { isSameName } from './definition/plan-parts.ts';

type KnownProjection = Projection & { readonly baseColumns: readonly BaseColumn[] };

/** Adds columns. A new one replaces an existing one of the same name. `include`: keeps the others. */
export function addColumns(
  source: Source,
  added: readonly ComputedColumn[],
  include: boolean,
  dialect: Dialect,
): Relation {
  const level = findOpenLevel(source, added, false) ?? startLevel(source);
  const names = added.map(({ name }) => name);
  const isReplaced = (name: string) => names.some((each) => isSameName(each, name));
  const baseColumns = !include
    ? []
    : isKnown(level)
      ? level.baseColumns.filter(({ as }) => !isReplaced(as))
      : { except: [...except(level), ...names] };
  const computed = include ? level.computed.filter(({ name }) => !isReplaced(name)) : [];
  return renderProjection({ ...level, baseColumns, computed: [...computed, ...added] }, dialect);
}

/** @param condition SQL that is true for the rows to keep */
export function addCondition(source: Source, condition: string, dialect: Dialect): Relation {
  const level = findOpenLevel(source, [{ name: '', sql: condition }], true) ?? startLevel(source);
  return renderProjection({ ...level, where: [...level.where, condition] }, dialect);
}

/** Renames columns. `include`: keeps the others. */
export function renameColumns(
  source: Source,
  renames: Renames,
  include: boolean,
  dialect: Dialect,
): Relation {
  const target = (column: string) => renames.find(([from]) => isSameName(from, column))?.[1];
  if (include && source.columns === undefined) {
    return { select: `SELECT ${dialect.columnsRenamed(renames)}\nFROM ${source.name}`, columns: undefined };
  }
  const level = source.projection ?? startLevel(source);
  const names = [...listBaseColumns(level).map(({ as }) => as), ...level.computed.map(({ name }) => name)];
  const isComplete = renames.every(([from]) => names.some((each) => isSameName(each, from)));
  // Named twice, or not known to be there: the warehouse decides.
  if (!isKnown(level) || !isComplete || hasDuplicates(renames.map(([from]) => from))) {
    const list = renames.map(([from, to]) => ({ column: from, as: to }));
    const rest = include
      ? (source.columns ?? []).flatMap((as) => (target(as) === undefined ? [{ column: as, as }] : []))
      : [];
    return renderProjection({ ...startLevel(source), baseColumns: [...rest, ...list] }, dialect);
  }
  if (!include) return renderProjection(pick(level, renames) ?? pickFrom(source, renames), dialect);
  const baseColumns = level.baseColumns.map(({ column, as }) => ({ column, as: target(as) ?? as }));
  const computed = level.computed.map(({ name, sql }) => ({ name: target(name) ?? name, sql }));
  return renderProjection({ ...level, baseColumns, computed }, dialect);
}

function startLevel(base: Source): Projection {
  const baseColumns = base.columns?.map((column) => ({ column, as: column })) ?? { except: [] };
  return { base, baseColumns, computed: [], where: [] };
}

const isKnown = (level: Projection): level is KnownProjection => Array.isArray(level.baseColumns);
const listBaseColumns = (level: Projection): readonly BaseColumn[] =>
  isKnown(level) ? level.baseColumns : [];
const except = (level: Projection): readonly string[] =>
  'except' in level.baseColumns ? level.baseColumns.except : [];

function hasDuplicates(names: readonly string[]): boolean {
  return new Set(names.map((name) => name.toLowerCase())).size < names.length;
}

type Renames = readonly (readonly [from: string, to: string])[];

/** Only some columns. Undefined if a kept column would follow a computed one: computed ones are rendered last. */
function pick(level: KnownProjection, renames: Renames): Projection | undefined {
  const baseColumns: BaseColumn[] = [];
  const computed: ComputedColumn[] = [];
  for (const [from, to] of renames) {
    const found = level.baseColumns.find(({ as }) => isSameName(as, from));
    const { sql } = level.computed.find(({ name }) => isSameName(name, from)) ?? {};
    if (found !== undefined && computed.length > 0) return undefined;
    if (found !== undefined) baseColumns.push({ column: found.column, as: to });
    else if (sql !== undefined) computed.push({ name: to, sql });
  }
  return { ...level, baseColumns: baseColumns, computed };
}

function pickFrom(source: Source, renames: Renames): Projection {
  return { ...startLevel(source), baseColumns: renames.map(([column, as]) => ({ column, as })) };
}

/** Functions that depend on the rows around, that make rows, or that give another value each time. */
const rowFunctions = new Set(
  'OVER UNNEST FLATTEN GENERATE_SERIES GENERATE_SUBSCRIPTS RANDOM UUID GEN_RANDOM_UUID NEXTVAL UUID_STRING SEQ1 SEQ2 SEQ4 SEQ8 UNIFORM SETSEED'.split(
    ' ',
  ),
);

/** What is not read may be anything. */
function makesRows(sql: string): boolean {
  const tokens = readTokens(sql, lexicalRules.duckdb)?.tokens;
  return (
    tokens === undefined ||
    tokens.some((token) => isName(token) && rowFunctions.has(token.value.toUpperCase()))
  );
}

/** Stars that are expanded to columns: `columns(…)`, `(*`, `t.*`. The one of `count(*)` is none. */
function hasStar(sql: string): boolean {
  const tokens = readTokens(sql, lexicalRules.duckdb)?.tokens;
  if (tokens === undefined) return true;
  return tokens.some((token, index) => {
    const [word, before] = [tokens[index - 2], tokens[index - 1]];
    if (isSymbol(token, '(')) return isWord(before, 'COLUMNS');
    return (
      isSymbol(token, '*') && (isSymbol(before, '.') || (isSymbol(before, '(') && !isWord(word, 'COUNT')))
    );
  });
}

/** The level of the source if SQL that is added to it means the same as above it. */
function findOpenLevel(
  source: Source,
  added: readonly ComputedColumn[],
  isCondition: boolean,
): Projection | undefined {
  const level = source.projection;
  if (level === undefined) return undefined;
  const isClosing = isCondition || added.some(({ sql }) => makesRows(sql));
  if (isClosing && level.computed.some(({ sql }) => makesRows(sql))) return undefined;
  if (added.some(({ sql }) => hasStar(sql))) return undefined;
  const changed = listChanged(level);
  if (changed === undefined) return undefined;
  changed.add(source.component.toLowerCase());
  return added.some(({ sql }) => mentions(sql, changed)) ? undefined : level;
}

/** Undefined if it is not known. */
function listChanged(level: Projection): Set<string> | undefined {
  const names = level.computed.map(({ name }) => name);
  if (isKnown(level)) {
    if (level.base.columns === undefined) return undefined;
    const isSame = (name: string) =>
      level.baseColumns.some(({ column, as }) => isSameName(column, as) && isSameName(column, name));
    for (const { as, column } of level.baseColumns) if (!isSameName(as, column)) names.push(as, column);
    names.push(...level.base.columns.filter((name) => !isSame(name)));
  } else names.push(...except(level));
  return new Set(names.map((name) => name.toLowerCase()));
}

/** Also counts the name of a function, which is on the safe side. */
function mentions(sql: string, names: ReadonlySet<string>): boolean {
  const tokens = readTokens(sql, lexicalRules.duckdb)?.tokens;
  return tokens === undefined || tokens.some((token) => isName(token) && names.has(token.text.toLowerCase()));
}

const placeholder = 'headgate_placeholder';

function renderProjection(level: Projection, dialect: Dialect): Relation {
  const { base, computed, where } = level;
  const list = computed.map(({ name, sql }) => `${sql} AS ${dialect.name(name)}`);
  const condition = where.length === 0 ? '' : `\nWHERE ${where.map(wrapIfSeveral(where)).join('\nAND ')}`;
  if (!isKnown(level)) {
    const names = except(level);
    const text =
      names.length === 0
        ? `SELECT ${['*', ...list].join(', ')}\nFROM ${base.name}${condition}`
        : renderColumnsExcept(base.name, names, list, condition, dialect);
    return { select: text, columns: undefined, projection: level };
  }
  const retained = isWholeBase(level)
    ? ['*']
    : level.baseColumns.map(({ column, as }) =>
        column === as ? dialect.name(column) : `${dialect.name(column)} AS ${dialect.name(as)}`,
      );
  return {
    select: `SELECT ${[...retained, ...list].join(', ')}\nFROM ${base.name}${condition}`,
    columns: [...level.baseColumns.map(({ as }) => as), ...computed.map(({ name }) => name)],
    projection: level,
  };
}

const wrapIfSeveral = (all: readonly string[]) => (condition: string) =>
  all.length === 1 ? condition : `(${condition})`;

function isWholeBase({ base, baseColumns, computed }: KnownProjection): boolean {
  return (
    computed.length === 0 &&
    baseColumns.length === base.columns?.length &&
    baseColumns.every(({ column, as }, index) => column === as && column === base.columns?.[index])
  );
}

/**
 * All columns of a relation except some, and a list. The warehouse refuses a star without columns, so a
 * placeholder is kept until the list is complete.
 */
export function renderColumnsExcept(
  from: string,
  except: readonly string[],
  list: readonly string[],
  rest: string,
  dialect: Dialect,
): string {
  const hidden = dialect.name(placeholder);
  const columns = [dialect.columnsExcept(except), ...list].join(', ');
  return `SELECT * EXCLUDE (${hidden}) FROM (\nSELECT ${columns}\nFROM (SELECT *, NULL AS ${hidden} FROM ${from}) AS ${from}${rest}\n)`;
}
