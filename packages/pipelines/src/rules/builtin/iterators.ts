/** Rules about iterators and other concurrent work. */
import type { OrchestrationComponent } from '../../format/pipeline.ts';
import {
  isOrchestration,
  listAfter,
  type ReviewedComponent,
  type ReviewedPipeline,
  readLiteral,
} from '../facts/reviewed-pipeline.ts';
import { isWord } from '../facts/sql-statements.ts';
import { createPointer, type FixStep, type PipelineRule, quote, type ReportDraft } from './rule.ts';
import { listIterationVariables, listSetVariables } from './variables.ts';

export const unboundedIterators: PipelineRule = {
  id: 'unbounded-iterators',
  scope: 'pipeline',
  title: 'An iterator has a bound',
  level: 'WARNING',
  reason:
    'An iterator over all files of a folder or all rows of a table takes as long as there are files or rows. One day there are ten thousand, and the run fails or takes the night.',
  remedy: 'Set `maxIterations` of a file-iterator; give a table-iterator a query with LIMIT.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Each row]}}
    Each row:
      type: table-iterator
      iterationTarget: Load
      parameters: {mode: Advanced, query: select id from orders, columnMapping1: [[id, id]]}
    Load: {type: run-orchestration, parameters: {orchestrationJob: load}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Each row]}}
    Each row:
      type: table-iterator
      iterationTarget: Load
      parameters: {mode: Advanced, query: select id from orders limit 100, columnMapping1: [[id, id]]}
    Load: {type: run-orchestration, parameters: {orchestrationJob: load}}`,
  check({ components }, report) {
    for (const component of components.filter(({ runs }) => runs)) {
      const message = describeUnbounded(component);
      if (message !== undefined) report({ component: component.name, message });
    }
  },
};

function describeUnbounded({ name, type, parameters, sql }: ReviewedComponent): string | undefined {
  if (type === 'file-iterator') {
    const { maxIterations } = parameters;
    const isSet = typeof maxIterations === 'string' && maxIterations.trim() !== '';
    if (!isSet) return `the iterator ${quote(name)} runs over all files, however many: set maxIterations`;
  }
  if (type !== 'table-iterator') return undefined;
  const mode = String(parameters.mode ?? '').toLowerCase();
  if (mode === 'basic') {
    const table = readLiteral(parameters.targetTable) ?? 'the table';
    return `the iterator ${quote(name)} runs over all rows of ${quote(table)}, however many: use the mode Advanced with a LIMIT`;
  }
  const statements = sql.filter(({ parameter }) => parameter === 'query').flatMap((each) => each.statements);
  const tokens = statements.flatMap((statement) => statement.tokens);
  // Without a table the number of rows is that of the text.
  if (
    !tokens.some((token) => isWord(token, 'FROM')) ||
    tokens.some((token) => isWord(token, 'LIMIT', 'TOP', 'FETCH'))
  )
    return undefined;
  return `the iterator ${quote(name)} runs over all rows of its query, however many: add a LIMIT`;
}

export const sharedInConcurrentWork: PipelineRule = {
  id: 'shared-variables-concurrent',
  scope: 'pipeline',
  title: 'Concurrent work does not set SHARED variables',
  level: 'ERROR',
  reason:
    'A SHARED variable has one value for the whole run. Iterations or branches that run at the same time overwrite each other’s value, and each reads whichever was set last.',
  remedy: 'Make the variable COPIED, or run the work one after the other.',
  fixes: 'makes the variable COPIED',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Each region]}}
    Each region:
      type: fixed-iterator
      iterationTarget: Load
      parameters: {variablesToIterate: [region], iterationValues: [[north], [south]], concurrency: Concurrent}
    Load: {type: run-orchestration, parameters: {orchestrationJob: load, setScalarVariables: [[region, "\${region}"]]}}
  variables:
    region: {metadata: {type: TEXT, scope: SHARED}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Each region]}}
    Each region:
      type: fixed-iterator
      iterationTarget: Load
      parameters: {variablesToIterate: [region], iterationValues: [[north], [south]], concurrency: Concurrent}
    Load: {type: run-orchestration, parameters: {orchestrationJob: load, setScalarVariables: [[region, "\${region}"]]}}
  variables:
    region: {metadata: {type: TEXT, scope: COPIED}}`,
  check(reviewed, report) {
    const { pipeline } = reviewed;
    if (pipeline.type !== 'orchestration') return;
    const shared = [...pipeline.variables.values()].filter(({ behaviour }) => behaviour === 'SHARED');
    if (shared.length === 0) return;
    const names = shared.map(({ name }) => name);
    checkIterations(reviewed, new Set(names), report);
    checkBranches(reviewed, pipeline.components, names, report);
  },
};

const makeCopied = (variable: string): FixStep[] => [
  {
    op: 'replace',
    path: createPointer(['pipeline', 'variables', variable, 'metadata', 'scope']),
    value: 'COPIED',
  },
];

function checkIterations(reviewed: ReviewedPipeline, names: ReadonlySet<string>, report: ReportDraft): void {
  const byName = new Map(reviewed.components.map((each) => [each.name, each]));
  for (const iterator of reviewed.components) {
    const { component, parameters } = iterator;
    if (!iterator.runs || !isOrchestration(component) || parameters.concurrency !== 'Concurrent') continue;
    const target = byName.get(component.iterationTarget ?? '');
    const set = [
      ...listIterationVariables(iterator),
      ...(target === undefined ? [] : listSetVariables(target, names)),
    ];
    for (const name of new Set(set.filter((each) => names.has(each)))) {
      const message = `the concurrent iterations of ${quote(iterator.name)} overwrite the SHARED variable ${quote(name)}: make it COPIED, or iterate sequentially`;
      report({ component: iterator.name, message, fix: makeCopied(name) });
    }
  }
}

/** Branches that begin at the same transition run at the same time. */
function checkBranches(
  reviewed: ReviewedPipeline,
  components: ReadonlyMap<string, OrchestrationComponent>,
  names: readonly string[],
  report: ReportDraft,
): void {
  const setters = new Map<string, string[]>();
  for (const each of reviewed.components.filter(({ runs }) => runs))
    for (const name of listSetVariables(each, names))
      if (names.includes(name)) setters.set(name, [...(setters.get(name) ?? []), each.name]);
  for (const [variable, setting] of setters) {
    const pair = findConcurrent(components, setting);
    if (pair === undefined) continue;
    const message = `${quote(pair[0])} and ${quote(pair[1])} can run at the same time, and both set the SHARED variable ${quote(variable)}: run them one after the other`;
    report({ component: pair[1], message });
  }
}

/** Components of one branching that are compared. */
const comparedLimit = 50;

/** Two of the components that lie on branches from the same component, with no path from one to the other. */
export function findConcurrent(
  components: ReadonlyMap<string, OrchestrationComponent>,
  names: readonly string[],
): [string, string] | undefined {
  const compared = names.slice(0, comparedLimit);
  const all = () => true;
  const after = new Map(
    compared.map((name) => [
      name,
      listAfter(components, components.get(name) as OrchestrationComponent, all),
    ]),
  );
  for (const [index, one] of compared.entries())
    for (const other of compared.slice(index + 1)) {
      if (after.get(one)?.has(other) === true || after.get(other)?.has(one) === true) continue;
      if (shareTransition(components, one, other)) return [one, other];
    }
  return undefined;
}

/** Whether one kind of transition of some component leads to both, by different ways. */
function shareTransition(
  components: ReadonlyMap<string, OrchestrationComponent>,
  one: string,
  other: string,
): boolean {
  for (const component of components.values())
    for (const [kind, targets] of Object.entries(component.transitions)) {
      if (targets.length < 2 || kind === 'failure') continue;
      const leads = targets.map((target) => {
        const first = components.get(target);
        return first === undefined
          ? new Set<string>()
          : listAfter(components, first, (each) => each !== 'failure').add(target);
      });
      const toOne = leads.findIndex((each) => each.has(one) && !each.has(other));
      const toOther = leads.findIndex((each) => each.has(other) && !each.has(one));
      if (toOne >= 0 && toOther >= 0) return true;
    }
  return false;
}
