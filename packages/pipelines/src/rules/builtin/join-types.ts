/** The rule about joins of columns of different types. */
import type { ColumnSource, TypeFamily } from '../facts/column-types.ts';
import type { ProjectFacts } from '../facts/pipeline-facts.ts';
import { type ProjectRule, quote } from './rule.ts';

export const joinTypes: ProjectRule = {
  id: 'join-type-mismatch',
  scope: 'project',
  title: 'A join compares columns of one type',
  level: 'WARNING',
  reason:
    'A join of a text with a number converts one of them for every row: `"007"` equals `7`, and a text that is no number ends the run. The warehouse cannot use its order of the rows.',
  remedy: 'Convert one of the columns before the join, or give both the same type where they are made.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: fixed-flow, parameters: {columns: [[customer, VARCHAR]], values: [["7"]]}}
    Customers: {type: fixed-flow, parameters: {columns: [[id, NUMBER]], values: [["7"]]}}
    Both:
      type: join
      sources: [Orders, Customers]
      parameters:
        mainTable: Orders
        mainTableAlias: o
        joins: [[Customers, c, Inner]]
        joinExpressions: [['"o"."customer" = "c"."id"', o_Inner_c]]
        columnMappings: [[c.id, id]]`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: fixed-flow, parameters: {columns: [[customer, NUMBER]], values: [["7"]]}}
    Customers: {type: fixed-flow, parameters: {columns: [[id, NUMBER]], values: [["7"]]}}
    Both:
      type: join
      sources: [Orders, Customers]
      parameters:
        mainTable: Orders
        mainTableAlias: o
        joins: [[Customers, c, Inner]]
        joinExpressions: [['"o"."customer" = "c"."id"', o_Inner_c]]
        columnMappings: [[c.id, id]]`,
  check(project, report) {
    const typeOf = createTypeLookup(project);
    for (const { path, comparisons } of project.pipelines.values())
      for (const { component, line, columns, sources } of comparisons) {
        const [one, other] = sources.map(typeOf);
        if (one === undefined || other === undefined || one === other) continue;
        const message = `the join ${quote(component)} compares ${columns[0]} (${one}) with ${columns[1]} (${other}): convert one of them before`;
        report(path, { component, line, message });
      }
  },
};

/** A table that two components create with different types has no known one. */
function createTypeLookup({ pipelines }: ProjectFacts): (source: ColumnSource) => TypeFamily | undefined {
  const tables = new Map<string, Map<string, TypeFamily | undefined>>();
  for (const { created } of pipelines.values())
    for (const { table, columns } of created) {
      const known = tables.get(table) ?? new Map<string, TypeFamily | undefined>();
      for (const [column, family] of Object.entries(columns))
        known.set(column, known.has(column) && known.get(column) !== family ? undefined : family);
      tables.set(table, known);
    }
  return (source) => ('family' in source ? source.family : tables.get(source.table)?.get(source.column));
}
