/**
 * The statements of an output. Each component that it needs becomes a CTE named after it.
 *
 * A long chain of CTEs is cut: the warehouse bounds how deeply SELECTs may be nested, and planning them takes
 * more than linear time. What a cut component gives goes to a temporary table first.
 */
import type { Output, Relation } from '../components/definition/component.ts';
import type { Dialect, StatementList } from '../sql/dialect/dialect.ts';

export interface Planned extends Relation {
  readonly cte: string;
  /** The components whose rows its SELECT reads. */
  readonly reads: readonly string[];
}

type Relations = ReadonlyMap<string, Planned>;

/** How many SELECTs may be nested. */
const depthLimit = 100;

/** @param order the components, each after its sources */
export function renderOutput(
  output: Output,
  sources: readonly string[],
  order: readonly string[],
  relations: Relations,
  dialect: Dialect,
): StatementList {
  const cuts = output.isView === true ? [] : listCuts(sources, order, relations);
  const left = new Map(relations);
  const steps: string[] = [];
  const drops: string[] = [];
  for (const [index, component] of cuts.entries()) {
    const relation = left.get(component);
    if (relation === undefined) continue;
    const table = dialect.temporaryTable(`headgate_step_${index + 1}`);
    const query = `${renderWith(order, [component], left, dialect)}SELECT * FROM ${dialect.name(relation.cte)}`;
    steps.push(dialect.createTemporaryTable(table, query));
    drops.push(`DROP TABLE ${table}`);
    left.set(component, { ...relation, select: `SELECT * FROM ${table}`, reads: [] });
  }
  const { statements, counted, countedTo } = output.write(
    `${renderWith(order, sources, left, dialect)}${output.select}`,
  );
  return {
    statements: [...steps, ...statements, ...drops],
    counted: counted + steps.length,
    ...(countedTo === undefined ? {} : { countedTo: countedTo + steps.length }),
  };
}

/** Computes the rows of a relation and counts them, but keeps none. */
export function createDiscard(cte: string, written: Relation, dialect: Dialect): Output {
  const table = dialect.temporaryTable('headgate_dropped_rows');
  return {
    select: `SELECT * FROM ${dialect.name(cte)}`,
    write: (query) => ({
      statements: [dialect.createTemporaryTable(table, query), `DROP TABLE ${table}`],
      counted: 0,
    }),
    written,
  };
}

/** The WITH clause of a query over some components. */
export function renderWith(
  order: readonly string[],
  components: readonly string[],
  relations: Relations,
  dialect: Dialect,
): string {
  const needed = findRead(components, relations);
  const parts = order.flatMap((name) => {
    const relation = needed.has(name) ? relations.get(name) : undefined;
    return relation === undefined
      ? []
      : [`${dialect.name(relation.cte)} AS (\n${indent(relation.select)}\n)`];
  });
  return parts.length === 0 ? '' : `WITH ${parts.join(',\n')}\n`;
}

/** Indents only the first line: a text literal may span lines. */
function indent(sql: string): string {
  return `  ${sql}`;
}

/** The components whose rows are read, also through others. */
function findRead(components: readonly string[], relations: Relations): Set<string> {
  const read = new Set<string>();
  const open = [...components];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (read.has(name)) continue;
    read.add(name);
    open.push(...(relations.get(name)?.reads ?? []));
  }
  return read;
}

/** The components at which a chain has reached the limit. */
function listCuts(sources: readonly string[], order: readonly string[], relations: Relations): string[] {
  const needed = findRead(sources, relations);
  const depths = new Map<string, number>();
  const cuts: string[] = [];
  for (const name of order) {
    if (!needed.has(name)) continue;
    const depth = 1 + Math.max(0, ...(relations.get(name)?.reads ?? []).map((each) => depths.get(each) ?? 0));
    depths.set(name, depth < depthLimit ? depth : 0);
    if (depth >= depthLimit) cuts.push(name);
  }
  return cuts;
}
