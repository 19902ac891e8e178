/** Rules about tables that steps write: who writes them, and what a failure or a repetition leaves. */
import type { CallFact, PipelineFacts, ProjectFacts, UseFact } from '../facts/pipeline-facts.ts';
import { listRows } from '../facts/reviewed-pipeline.ts';
import { isAlwaysTrue, isWord, readTokens } from '../facts/sql-statements.ts';
import type { TableUse } from '../facts/table-uses.ts';
import { type PipelineRule, type ProjectRule, quote } from './rule.ts';

/** A use of a table with the place that makes it, which may be in a called pipeline. */
interface PlacedUse extends TableUse {
  readonly path: string;
  readonly component: string;
}

/** Uses behind one call. */
const useLimit = 500;
const depthLimit = 50;

/** What a call does to tables, over all pipelines that it leads to. */
function createUseLookup({ pipelines }: ProjectFacts): (path: string) => readonly PlacedUse[] {
  const known = new Map<string, readonly PlacedUse[]>();
  const find = (path: string, depth: number): readonly PlacedUse[] => {
    const found = known.get(path);
    const facts = pipelines.get(path);
    if (found !== undefined || facts === undefined || depth > depthLimit) return found ?? [];
    known.set(path, []);
    const own = facts.uses.map(({ line: _, ...use }) => ({ ...use, path }));
    const uses = [...own, ...facts.calls.flatMap(({ to }) => find(to, depth + 1))].slice(0, useLimit);
    known.set(path, uses);
    return uses;
  };
  return (path) => find(path, 0);
}

interface Step {
  readonly component: string;
  readonly line: number;
  readonly uses: readonly PlacedUse[];
}

/** The components of one pipeline with what they and their calls do to tables. */
function listSteps(facts: PipelineFacts, behind: (path: string) => readonly PlacedUse[]): Step[] {
  const steps = new Map<string, Step>();
  const add = ({ component, line }: UseFact | CallFact, uses: readonly PlacedUse[]) => {
    const before = steps.get(component)?.uses ?? [];
    steps.set(component, { component, line, uses: [...before, ...uses] });
  };
  for (const use of facts.uses) add(use, [{ ...use, path: facts.path }]);
  for (const call of facts.calls) add(call, behind(call.to));
  return [...steps.values()];
}

const nameTable = (table: string) => quote(table.replace(/^\.+/, ''));

export const twoWriters: ProjectRule = {
  id: 'two-writers',
  scope: 'project',
  title: 'A table has one writer in a run',
  level: 'WARNING',
  reason:
    'If two steps of a run write a table, its rows depend on which was last, and a failure between them leaves the rows of one. If the second one replaces the rows, the work of the first is lost.',
  remedy:
    'Let one step write the table, for example from a union of both sources, or give each its own table.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}
    Returns: {type: table-input, parameters: {targetTable: returns, columnNames: [id]}}
    First: {type: rewrite-table, sources: [Orders], parameters: {targetTable: movements}}
    Second: {type: rewrite-table, sources: [Returns], parameters: {targetTable: movements}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}
    Returns: {type: table-input, parameters: {targetTable: returns, columnNames: [id]}}
    First: {type: rewrite-table, sources: [Orders], parameters: {targetTable: order_movements}}
    Second: {type: rewrite-table, sources: [Returns], parameters: {targetTable: return_movements}}`,
  check(project, report) {
    const behind = createUseLookup(project);
    for (const facts of project.pipelines.values()) {
      const steps = listSteps(facts, behind);
      const isTogether = createTogether(facts);
      const writers = new Map<string, { step: Step; use: PlacedUse }[]>();
      const reported = new Set<string>();
      for (const step of steps)
        for (const use of step.uses) {
          if (use.kind === 'empty' || reported.has(use.table)) continue;
          const others = writers.get(use.table) ?? [];
          const other = others.find(
            (each) =>
              each.step !== step &&
              !isSamePlace(each.use, use) &&
              isTogether(each.step.component, step.component) &&
              mayConflict(each.use, use),
          );
          writers.set(use.table, [...others, { step, use }]);
          if (other === undefined) continue;
          reported.add(use.table);
          const message = `${quote(other.step.component)} and ${quote(step.component)} both write the table ${nameTable(use.table)} in one run${describePlaces(facts, other.use, use)}: let one step write it`;
          report(facts.path, { component: step.component, line: step.line, message });
        }
    }
  },
};

const isSamePlace = (one: PlacedUse, other: PlacedUse) =>
  one.path === other.path && one.component === other.component;

/** Statements that add rows, as to a table with a log, leave those of each other. */
function mayConflict(one: PlacedUse, other: PlacedUse): boolean {
  const uses = [one, other];
  return !uses.every(({ kind }) => kind === 'fill') || !uses.some(({ isSql }) => isSql === true);
}

const isBeside = ({ beside }: PipelineFacts, one: string, other: string) =>
  beside.some(([a, b]) => (a === one && b === other) || (a === other && b === one));

function createTogether(facts: PipelineFacts): (one: string, other: string) => boolean {
  return (one, other) =>
    facts.after[one]?.includes(other) === true ||
    facts.after[other]?.includes(one) === true ||
    isBeside(facts, one, other);
}

function describePlaces(facts: PipelineFacts, ...uses: PlacedUse[]): string {
  const paths = [...new Set(uses.map(({ path }) => path))].filter((path) => path !== facts.path);
  return paths.length === 0 ? '' : ` (in ${paths.slice(0, 2).join(' and ')})`;
}

export const emptiedBeforeLoad: ProjectRule = {
  id: 'emptied-before-load',
  scope: 'project',
  title: 'A table is not emptied before a load that may fail',
  level: 'WARNING',
  reason:
    'If the load after a truncate or drop fails, the table stays empty or is gone, and everybody who reads it sees that. A step that replaces the rows does both in one transaction.',
  remedy:
    'Replace the rows in one step (rewrite-table, `outputMode: Truncate`), or load into another table and swap them.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Empty]}}
    Empty: {type: truncate-table, parameters: {targetTable: [orders]}, transitions: {success: [Load]}}
    Load: {type: file-load, parameters: {source: orders.csv, fileType: CSV, targetTable: orders}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: file-load
      parameters: {source: orders.csv, fileType: CSV, targetTable: orders, createReplace: Replace}`,
  check(project, report) {
    const behind = createUseLookup(project);
    for (const facts of project.pipelines.values()) {
      const steps = listSteps(facts, behind);
      for (const step of steps) {
        const emptied = step.uses.filter(({ kind, path }) => kind === 'empty' && path === facts.path);
        const found = emptied.flatMap(({ table }) => {
          const load = steps.find(
            (other) =>
              facts.after[step.component]?.includes(other.component) === true &&
              other.uses.some((use) => use.table === table && use.kind !== 'empty'),
          );
          return load === undefined ? [] : [{ table, load }];
        })[0];
        if (found === undefined) continue;
        const message = `${quote(step.component)} empties or drops the table ${nameTable(found.table)} before ${quote(found.load.component)} fills it: if that fails, the table stays empty; replace the rows in one step`;
        report(facts.path, { component: step.component, line: step.line, message });
      }
    }
  },
};

export const updateWithoutKey: PipelineRule = {
  id: 'update-without-key',
  scope: 'pipeline',
  title: 'An update names the rows that it changes',
  level: 'ERROR',
  reason:
    'An UPDATE without a condition changes all rows. A table-update or MERGE whose condition always holds updates each row by every other.',
  remedy: 'Add a WHERE, or compare the keys in `joinExpression`.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Close]}}
    Close: {type: sql-script, parameters: {sqlScript: "update orders set state = 'closed'"}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Close]}}
    Close: {type: sql-script, parameters: {sqlScript: "update orders set state = 'closed' where paid"}}`,
  check({ components }, report) {
    for (const { name, type, parameters, sql } of components) {
      if (type === 'table-update') {
        const { joinExpression } = parameters;
        const rows = listRows(joinExpression);
        const isOpen =
          typeof joinExpression === 'object' && joinExpression !== null && !Array.isArray(joinExpression);
        if (isOpen || rows.some(([expression = '']) => !isAlwaysTrue(readTokens(expression)))) continue;
        report({
          component: name,
          at: ['parameters', 'joinExpression'],
          message: `the table-update ${quote(name)} has no condition that compares keys: fill in joinExpression`,
        });
        continue;
      }
      for (const { parameter, statements } of sql) {
        const found = statements.find(({ tokens }) => isKeyless(tokens));
        if (found === undefined) continue;
        const table = found.tokens[1]?.text ?? '';
        const message = `the component ${quote(name)} updates all rows (${quote(`${found.tokens[0]?.text ?? ''} ${table} …`)}): add a WHERE`;
        report({ component: name, at: ['parameters', parameter], message });
        break;
      }
    }
  },
};

function isKeyless(tokens: Parameters<typeof isAlwaysTrue>[0]): boolean {
  if (!isWord(tokens[0], 'UPDATE') || !tokens.some((token) => isWord(token, 'SET'))) return false;
  return !tokens.some((token) => isWord(token, 'WHERE', 'FROM', 'JOIN', 'USING'));
}

export const retriedEffects: ProjectRule = {
  id: 'retried-effects',
  scope: 'project',
  title: 'Only steps that can be repeated are retried',
  level: 'WARNING',
  reason:
    'A step can fail after it has done its work, for example because the connection broke. If it adds rows, the retry adds them a second time.',
  remedy:
    'Make the step repeatable: replace rows, or merge them by a key. Or retry only the part that reads.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Again]}}
    Again: {type: retry, iterationTarget: Add, parameters: {numberOfRetries: "3"}}
    Add: {type: sql-script, parameters: {sqlScript: insert into orders select id from stage}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Again]}}
    Again: {type: retry, iterationTarget: Add, parameters: {numberOfRetries: "3"}}
    Add: {type: sql-script, parameters: {sqlScript: create or replace table orders as select id from stage}}`,
  check(project, report) {
    const behind = createUseLookup(project);
    for (const facts of project.pipelines.values()) {
      const steps = new Map(listSteps(facts, behind).map((step) => [step.component, step]));
      for (const { component, line, target } of facts.retries) {
        const uses = steps.get(target)?.uses ?? [];
        // What empties the table first can be repeated.
        const use = uses.find(
          ({ kind, table }) =>
            kind === 'fill' && !uses.some((other) => other.kind === 'empty' && other.table === table),
        );
        if (use === undefined) continue;
        const message = `${quote(component)} retries ${quote(target)}, which adds rows to the table ${nameTable(use.table)}: a retry adds them again; replace or merge the rows`;
        report(facts.path, { component, line, message });
      }
    }
  },
};
