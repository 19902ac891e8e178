/** What the rules about several files need of one pipeline. It is small and can be sent between threads. */

import { findCalledName } from '../../components/run-pipeline.ts';
import type { Orchestration, OrchestrationComponent, PipelineType } from '../../format/pipeline.ts';
import { pipelinePath } from '../../format/pipeline.ts';
import { mayHaveEffect } from '../../plan/effects.ts';
import {
  type ColumnSource,
  createColumnReader,
  createTableKey,
  readFamily,
  type TypeFamily,
} from './column-types.ts';
import {
  isOrchestration,
  listAfter,
  listRows,
  type ReviewedComponent,
  type ReviewedPipeline,
} from './reviewed-pipeline.ts';
import { isSymbol, readName, readTokens } from './sql-statements.ts';
import { findTableUses, type TableUse } from './table-uses.ts';

export interface CallFact {
  readonly component: string;
  readonly line: number;
  /** The path of the called pipeline. */
  readonly to: string;
}

export interface UseFact extends TableUse {
  readonly component: string;
  readonly line: number;
}

/** Two columns that a join compares. */
export interface ComparisonFact {
  readonly component: string;
  readonly line: number;
  readonly columns: readonly [string, string];
  readonly sources: readonly [ColumnSource, ColumnSource];
}

export interface RetryFact {
  readonly component: string;
  readonly line: number;
  /** The component that is run again. */
  readonly target: string;
}

export interface PipelineFacts {
  readonly path: string;
  readonly type: PipelineType;
  readonly calls: readonly CallFact[];
  readonly uses: readonly UseFact[];
  /** Components with calls or uses that run after one, unless something fails. */
  readonly after: Readonly<Record<string, readonly string[]>>;
  /** Components with calls or uses that can run at the same time as another one: pairs. */
  readonly beside: readonly (readonly [string, string])[];
  readonly created: readonly {
    readonly table: string;
    readonly columns: Readonly<Record<string, TypeFamily>>;
  }[];
  readonly comparisons: readonly ComparisonFact[];
  readonly retries: readonly RetryFact[];
}

/** What the server knows beside the files. */
export interface ServerFacts {
  readonly schedules: readonly ScheduleFact[];
}

export interface ScheduleFact {
  readonly name: string;
  /** With its extension. */
  readonly pipelineName: string;
  readonly environmentName: string;
  readonly hasAlert: boolean;
}

export interface ProjectFacts {
  readonly pipelines: ReadonlyMap<string, PipelineFacts>;
  readonly server: ServerFacts | undefined;
}

/** Facts of each kind for one pipeline. */
const factLimit = 500;
/** Components whose order is compared. */
const orderLimit = 100;

export function collectFacts(reviewed: ReviewedPipeline): PipelineFacts {
  const { pipeline, lineOf } = reviewed;
  const running = reviewed.components.filter(({ runs }) => runs);
  const line = (name: string) => lineOf(['pipeline', 'components', name]);
  const calls = running.flatMap((component) => findCall(component, line(component.name))).slice(0, factLimit);
  const uses = running
    .flatMap((component) =>
      findTableUses(component).map((use) => ({
        ...use,
        component: component.name,
        line: line(component.name),
      })),
    )
    .slice(0, factLimit);
  const named = [...new Set([...calls, ...uses].map(({ component }) => component))].slice(0, orderLimit);
  return {
    path: pipeline.path,
    type: pipeline.type,
    calls,
    uses,
    ...(pipeline.type === 'orchestration'
      ? findOrder(pipeline, named)
      : { after: {}, beside: listPairs(named) }),
    created: running.flatMap(findCreated).slice(0, factLimit),
    comparisons:
      pipeline.type === 'transformation' ? findComparisons(reviewed, line).slice(0, factLimit) : [],
    retries: running.flatMap((component) => findRetry(component, line(component.name))).slice(0, factLimit),
  };
}

const callParameters = {
  'run-orchestration': ['orchestrationJob', 'orchestration'],
  'run-transformation': ['transformationJob', 'transformation'],
} as const;

function findCall({ name, type, parameters }: ReviewedComponent, line: number): CallFact[] {
  if (type !== 'run-orchestration' && type !== 'run-transformation') return [];
  const [parameter, called] = callParameters[type];
  const target = findCalledName(parameters, parameter);
  if (typeof target !== 'string' || target === '' || target.includes('${')) return [];
  return [{ component: name, line, to: pipelinePath(target, called) }];
}

function listPairs(names: readonly string[]): [string, string][] {
  return names
    .flatMap((one, index) => names.slice(index + 1).map((other): [string, string] => [one, other]))
    .slice(0, factLimit);
}

/** The order in runs without a failure. What an iterator runs is where the iterator is. */
function findOrder(
  orchestration: Orchestration,
  names: readonly string[],
): Pick<PipelineFacts, 'after' | 'beside'> {
  const { components } = orchestration;
  const placeOf = new Map(names.map((name) => [name, findIterator(components, name)]));
  const reached = new Map(
    [...new Set(placeOf.values())].map((place) => {
      const component = components.get(place) as OrchestrationComponent;
      return [place, listAfter(components, component, (kind) => kind !== 'failure')] as const;
    }),
  );
  const isAfter = (one: string, other: string) =>
    reached.get(placeOf.get(one) ?? '')?.has(placeOf.get(other) ?? '') === true;
  const after = names.map((one) => [one, names.filter((other) => isAfter(one, other))] as const);
  const beside = listPairs(names).filter(
    ([one, other]) =>
      !isAfter(one, other) &&
      !isAfter(other, one) &&
      areTogether(orchestration, placeOf.get(one) ?? '', placeOf.get(other) ?? ''),
  );
  return { after: Object.fromEntries(after), beside };
}

/** The outermost iterator that runs the component, or the component itself. */
function findIterator(components: ReadonlyMap<string, OrchestrationComponent>, name: string): string {
  const iterator = [...components.values()].find(({ iterationTarget }) => iterationTarget === name);
  return iterator === undefined || iterator.name === name ? name : iterator.name;
}

/** Whether one component leads to both by transitions of the same end. */
function areTogether({ components }: Orchestration, one: string, other: string): boolean {
  const follow = (kind: string) => kind !== 'failure';
  for (const component of components.values())
    for (const [kind, targets] of Object.entries(component.transitions)) {
      if (targets.length < 2 || kind === 'failure') continue;
      const leads = targets.slice(0, orderLimit).map((target) => {
        const first = components.get(target);
        return new Set(first === undefined ? [] : [target, ...listAfter(components, first, follow)]);
      });
      const [toOne, toOther] = [one, other].map((name) => leads.findIndex((each) => each.has(name)));
      if (toOne !== undefined && toOther !== undefined && toOne >= 0 && toOther >= 0 && toOne !== toOther)
        return true;
    }
  return false;
}

function findCreated({ type, parameters }: ReviewedComponent): PipelineFacts['created'][number][] {
  if (type !== 'create-table') return [];
  const table = createTableKey(parameters, parameters.newTableName ?? parameters.table);
  if (table === undefined) return [];
  const columns = listRows(parameters.columns).flatMap(([name = '', written = '']) => {
    const family = readFamily(written);
    return family === undefined ? [] : [[name.toLowerCase(), family] as const];
  });
  return [{ table, columns: Object.fromEntries(columns) }];
}

function findRetry({ name, component }: ReviewedComponent, line: number): RetryFact[] {
  if (!isOrchestration(component)) return [];
  if (component.type === 'retry' && component.iterationTarget !== undefined)
    return [{ component: name, line, target: component.iterationTarget }];
  return (component.attempts?.retries ?? 0) > 0 && mayHaveEffect(component.type)
    ? [{ component: name, line, target: name }]
    : [];
}

/** The comparisons `"a"."x" = "b"."y"` in the conditions of joins. */
function findComparisons(reviewed: ReviewedPipeline, line: (name: string) => number): ComparisonFact[] {
  const read = createColumnReader(reviewed);
  return reviewed.components
    .filter(({ type }) => type === 'join')
    .flatMap(({ name, parameters }) => {
      const aliases = new Map<string, string>();
      const { mainTable, mainTableAlias } = parameters;
      if (typeof mainTable === 'string' && typeof mainTableAlias === 'string')
        aliases.set(mainTableAlias.toLowerCase(), mainTable);
      for (const [source = '', alias = ''] of listRows(parameters.joins))
        aliases.set(alias.toLowerCase(), source);
      const find = (alias: string, column: string) => read(aliases.get(alias) ?? '').get(column);
      return listRows(parameters.joinExpressions).flatMap(([sql = '']) =>
        readComparisons(sql, find).map((each) => ({ ...each, component: name, line: line(name) })),
      );
    });
}

type FindColumn = (alias: string, column: string) => ColumnSource | undefined;

function readComparisons(sql: string, find: FindColumn): Pick<ComparisonFact, 'columns' | 'sources'>[] {
  const tokens = readTokens(sql);
  return tokens.flatMap((token, at) => {
    if (!isSymbol(token, '=')) return [];
    const right = readName(tokens, at + 1);
    const left = isSymbol(tokens[at - 2], '.') ? readName(tokens, at - 3) : undefined;
    if (left?.parts.length !== 2 || right?.parts.length !== 2 || isSymbol(tokens[at - 4], '.', '::'))
      return [];
    if (isSymbol(tokens[right.next], '::', '(', '+', '-', '*', '/', '||')) return [];
    const [one, other] = [left, right].map(({ parts: [alias = '', column = ''] }) =>
      find(alias.toLowerCase(), column.toLowerCase()),
    );
    if (one === undefined || other === undefined) return [];
    return [{ columns: [left.parts.join('.'), right.parts.join('.')], sources: [one, other] } as const];
  });
}
