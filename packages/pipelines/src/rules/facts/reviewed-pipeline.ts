/** A parsed pipeline with what the rules ask about it. What takes time is computed when it is first asked for. */

import { findDefinedType, findDefinition } from '../../components/registry.ts';
import { listTakenKinds } from '../../format/component-end.ts';
import type { LineOf } from '../../format/parse.ts';
import type {
  OrchestrationComponent,
  Pipeline,
  Plain,
  PlainMap,
  TransformationComponent,
  TransitionKind,
} from '../../format/pipeline.ts';
import { findReach } from '../../plan/reach.ts';
import { readStatements, type SqlStatement } from './sql-statements.ts';

/** SQL of a component, by the parameter that holds it. */
export interface ComponentSql {
  readonly parameter: string;
  readonly statements: readonly SqlStatement[];
}

export interface ReviewedComponent {
  readonly name: string;
  /** The defined type, without a vendor's suffix. */
  readonly type: string;
  readonly component: OrchestrationComponent | TransformationComponent;
  readonly parameters: PlainMap;
  /** The member of the file. */
  readonly raw: Plain;
  readonly runs: boolean;
  /** Queries and scripts of SQL. */
  readonly sql: readonly ComponentSql[];
}

export interface ReviewedPipeline {
  readonly pipeline: Pipeline;
  /** The file as parsed from YAML. */
  readonly value: Plain;
  readonly lineOf: LineOf;
  readonly components: readonly ReviewedComponent[];
  /** Components that the walk passes. */
  readonly passed: ReadonlySet<string>;
}

export function createReviewedPipeline(pipeline: Pipeline, value: Plain, lineOf: LineOf): ReviewedPipeline {
  const { runs, passed } = findReach(pipeline);
  const raw = getMap(getMap(getMap(value).pipeline).components);
  const components = [...pipeline.components.values()].map((component): ReviewedComponent => {
    let sql: readonly ComponentSql[] | undefined;
    return {
      name: component.name,
      type: findDefinedType(component.type) ?? component.type,
      component,
      parameters: component.parameters,
      raw: raw[component.name] ?? null,
      runs: runs.has(component.name),
      get sql() {
        sql ??= readSql(component);
        return sql;
      },
    };
  });
  return { pipeline, value, lineOf, components, passed };
}

export function getMap(value: Plain | undefined): PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PlainMap) : {};
}

/** What components of unknown types call a parameter that holds SQL. */
const usualNames: ReadonlySet<string> = new Set(['query', 'sql', 'sqlquery', 'sqlscript']);

function readSql({ type, parameters }: { type: string; parameters: PlainMap }): ComponentSql[] {
  const definition = findDefinition(type);
  return Object.entries(parameters).flatMap(([parameter, value]) => {
    const isSql =
      definition === undefined
        ? usualNames.has(parameter.toLowerCase())
        : definition.parameters[parameter]?.kind === 'sql';
    if (!isSql || typeof value !== 'string' || value.trim() === '') return [];
    return [{ parameter, statements: readStatements(value) }];
  });
}

export function isOrchestration(
  component: OrchestrationComponent | TransformationComponent,
): component is OrchestrationComponent {
  return 'transitions' in component;
}

/** A text that is known before the run; undefined if it is empty, a preset or has an expression. */
export function readLiteral(value: Plain | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' || text.startsWith('[') || text.includes('${') ? undefined : text;
}

export interface PlacedText {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** All texts in a value, with their places. */
export function listTexts(value: Plain, path: readonly (string | number)[] = []): PlacedText[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((inner: Plain, index) => listTexts(inner, [...path, index]));
  return Object.entries(value).flatMap(([name, inner]) => listTexts(inner as Plain, [...path, name]));
}

export function listRows(value: Plain | undefined): string[][] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((row: Plain) =>
    Array.isArray(row) ? [row.map((cell: Plain) => (typeof cell === 'string' ? cell : ''))] : [],
  );
}

/** `[a, b]`, or rows of one cell, or a single name. */
export function listNamed(value: Plain | undefined): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (!Array.isArray(value)) return [];
  return value.flatMap((each: Plain) =>
    typeof each === 'string' ? [each] : (listRows([each])[0] ?? []).slice(0, 1),
  );
}

/** Names to which the component leads, by the kinds of its transitions that can be taken. */
export function listEdges(component: OrchestrationComponent): { kind: TransitionKind; to: string }[] {
  return listTakenKinds(component).flatMap((kind) => component.transitions[kind].map((to) => ({ kind, to })));
}

/** The components after one, along edges that `follow` accepts; without it, unless a circle leads back. */
export function listAfter(
  components: ReadonlyMap<string, OrchestrationComponent>,
  first: OrchestrationComponent,
  follow: (kind: TransitionKind) => boolean,
): Set<string> {
  const after = new Set<string>();
  const open = [first];
  for (let component = open.pop(); component !== undefined; component = open.pop())
    for (const { kind, to } of listEdges(component)) {
      const next = components.get(to);
      if (next === undefined || after.has(to) || !follow(kind)) continue;
      after.add(to);
      open.push(next);
    }
  return after;
}

/** Whether the word stands in the text as a name of its own. */
export function isNamedIn(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    const before = text[at - 1] ?? ' ';
    const after = text[at + name.length] ?? ' ';
    if (!/[\w]/.test(before) && !/[\w]/.test(after)) return true;
  }
  return false;
}
