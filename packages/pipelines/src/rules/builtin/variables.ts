/** Rules about the use of variables. */
import type { OrchestrationComponent, Plain, VariableDeclaration } from '../../format/pipeline.ts';
import {
  getMap,
  isNamedIn,
  isOrchestration,
  listAfter,
  listNamed,
  listRows,
  listTexts,
  type ReviewedComponent,
  type ReviewedPipeline,
} from '../facts/reviewed-pipeline.ts';
import { createPointer, type PipelineRule, quote } from './rule.ts';

export const unusedVariables: PipelineRule = {
  id: 'unused-variables',
  scope: 'pipeline',
  title: 'Every variable is used',
  level: 'WARNING',
  reason:
    'A variable that nothing reads or sets looks like an input of the pipeline. A caller that sets it expects an effect that does not come.',
  remedy: 'Remove the variable, or use it.',
  fixes: 'removes the declaration of the variable',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: sql-script, parameters: {sqlScript: "delete from orders where day = '\${day}'"}}
  variables:
    day: {metadata: {type: TEXT}}
    month: {metadata: {type: TEXT}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: sql-script, parameters: {sqlScript: "delete from orders where day = '\${day}'"}}
  variables:
    day: {metadata: {type: TEXT}}`,
  check({ pipeline, value, components }, report) {
    if (pipeline.variables.size === 0 || components.some(readsFile)) return;
    const body = getMap(getMap(value).pipeline);
    const texts = [
      ...listTexts(body.components ?? null),
      ...Object.values(getMap(body.variables)).flatMap((each) =>
        listTexts(getMap(each).defaultValue ?? null),
      ),
    ].map(({ text }) => text);
    const words = new Set(texts.flatMap((text) => text.match(/[A-Za-z_$][\w$]*/g) ?? []));
    // A name at the end of another one, as in $name of Bash.
    const isWord = (name: string) => words.has(name) || words.has(`$${name}`);
    const plainName = /^[A-Za-z_$][\w$]*$/;
    for (const name of pipeline.variables.keys()) {
      if (plainName.test(name) ? isWord(name) : texts.some((text) => isNamedIn(text, name))) continue;
      const at = ['pipeline', 'variables', name];
      const message = `nothing in the pipeline uses the variable ${quote(name)}: remove or use it`;
      report({ at, message, fix: [{ op: 'remove', path: createPointer(at) }] });
    }
  },
};

/** SQL and scripts in files of the version can read any variable. */
function readsFile({ parameters }: ReviewedComponent): boolean {
  const { scriptLocation } = parameters;
  return typeof scriptLocation === 'string' && /file/i.test(scriptLocation);
}

/** Parameters that set variables: the cell of a row that names one, or undefined for a list of names. */
const settings: Readonly<Record<string, readonly (readonly [parameter: string, cell?: number])[]>> = {
  'update-scalar': [['scalarsToUpdate', 0]],
  'query-to-scalar': [['scalarVariableMapping', 0]],
  'query-to-grid': [['gridVariable']],
  'table-metadata-to-grid': [['gridVariable']],
  'append-to-grid': [['targetGridVariable']],
  'remove-from-grid': [['targetGridVariable']],
};
const iterations: Readonly<Record<string, readonly (readonly [parameter: string, cell?: number])[]>> = {
  'grid-iterator': [['gridIteratorVariableMapping', 1]],
  'table-iterator': [
    ['columnMapping', 1],
    ['columnMapping1', 1],
  ],
  'loop-iterator': [['variableToIterate']],
  'fixed-iterator': [['variablesToIterate']],
  'file-iterator': [['variables', 0]],
};

function readNames(component: ReviewedComponent, table: typeof settings): string[] {
  const own = Object.hasOwn(table, component.type) ? (table[component.type] ?? []) : [];
  return own.flatMap(([parameter, cell]) => {
    const value = component.parameters[parameter];
    return cell === undefined ? listNamed(value) : listRows(value).map((row) => row[cell] ?? '');
  });
}

/** The variables that each iteration of an iterator sets. */
export const listIterationVariables = (component: ReviewedComponent) => readNames(component, iterations);

/** The variables that a component sets. Scripts set those that they pass to an update. */
export function listSetVariables(reviewed: ReviewedComponent, names: Iterable<string>): Set<string> {
  const { component, parameters } = reviewed;
  const set = new Set(readNames(reviewed, settings));
  if (!isOrchestration(component)) return set;
  for (const [variable] of component.updateScalarVariables) set.add(variable);
  for (const { variable } of component.updateGridVariables) set.add(variable);
  // not SQL: a call in Python
  const scripts = listTexts(parameters).filter(({ text }) => /update(?:Grid)?Variable/.test(text));
  if (scripts.length > 0)
    for (const name of names) if (scripts.some(({ text }) => isNamedIn(text, name))) set.add(name);
  return set;
}

export const variablesBeforeSet: PipelineRule = {
  id: 'variables-before-set',
  scope: 'pipeline',
  title: 'A variable is set before it is read',
  level: 'WARNING',
  reason:
    'A variable without a default is empty until a component sets it. A component that reads it earlier works with an empty text, which usually gives no error.',
  remedy: 'Read the variable after the component that sets it, or give it a default.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: sql-script
      parameters: {sqlScript: "delete from orders where day = '\${day}'"}
      transitions: {success: [Read day]}
    Read day:
      type: query-to-scalar
      parameters: {mode: Advanced, query: "select max(day) as day from days", scalarVariableMapping: [[day, day]]}
  variables:
    day: {metadata: {type: TEXT, visibility: PRIVATE}, defaultValue: ""}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Read day]}}
    Read day:
      type: query-to-scalar
      parameters: {mode: Advanced, query: "select max(day) as day from days", scalarVariableMapping: [[day, day]]}
      transitions: {success: [Load]}
    Load: {type: sql-script, parameters: {sqlScript: "delete from orders where day = '\${day}'"}}
  variables:
    day: {metadata: {type: TEXT, visibility: PRIVATE}, defaultValue: ""}`,
  check(reviewed, report) {
    if (reviewed.pipeline.type !== 'orchestration') return;
    const { variables, components } = reviewed.pipeline;
    const empty = [...variables.values()].filter((each) => each.visibility === 'PRIVATE' && isEmpty(each));
    if (empty.length === 0) return;
    const names = empty.map(({ name }) => name);
    const setBefore = findSetBefore(reviewed, components, names);
    for (const component of reviewed.components.filter(({ runs }) => runs)) {
      const texts = listTexts(withoutSetters(component)).filter(({ text }) => text.includes('${'));
      for (const name of names) {
        if (setBefore.get(name)?.has(component.name) === true) continue;
        if (!texts.some(({ text }) => isReadIn(text, name))) continue;
        const message = `the component ${quote(component.name)} reads the variable ${quote(name)}, which is PRIVATE, has no default, and is not set before: set it earlier or give it a default`;
        report({ component: component.name, message });
      }
    }
  },
};

function isEmpty({ type, defaultValue }: VariableDeclaration): boolean {
  if (type === 'GRID') return false;
  return defaultValue === '' || defaultValue === null;
}

/** The values after the component has run may name what it set itself. */
function withoutSetters({ raw }: ReviewedComponent): Plain {
  const { postProcessing: _, ...rest } = getMap(raw);
  return rest;
}

function isReadIn(text: string, name: string): boolean {
  for (let open = text.indexOf('${'); open >= 0; open = text.indexOf('${', open + 2)) {
    const close = text.indexOf('}', open);
    // In `table.length`, `length` is a member.
    const expression = text
      .slice(open + 2, close < 0 ? undefined : close)
      .replaceAll(/\.[ \t]*[A-Za-z_$][\w$]*/g, '.');
    if (isNamedIn(expression, name)) return true;
  }
  return false;
}

/** For each variable the components before which, or by which, something sets it. */
function findSetBefore(
  { components: all }: ReviewedPipeline,
  components: ReadonlyMap<string, OrchestrationComponent>,
  names: readonly string[],
): Map<string, Set<string>> {
  const found = new Map(names.map((name) => [name, new Set<string>()]));
  for (const reviewed of all) {
    const component = components.get(reviewed.name);
    if (component === undefined || !reviewed.runs) continue;
    const set = [...listSetVariables(reviewed, names), ...listIterationVariables(reviewed)].filter((name) =>
      found.has(name),
    );
    if (set.length === 0) continue;
    const after = [component.name, ...listAfter(components, component, () => true)];
    for (const name of set)
      for (const each of after) {
        found.get(name)?.add(each);
        const target = components.get(each)?.iterationTarget;
        if (target !== undefined) found.get(name)?.add(target);
      }
    // An iterator sets it before its target, and what the target sets stays for what follows the iterator.
    for (const iterator of components.values()) {
      if (iterator.iterationTarget !== component.name) continue;
      for (const name of set)
        for (const each of listAfter(components, iterator, () => true)) found.get(name)?.add(each);
    }
  }
  return found;
}

export const copiedVariables: PipelineRule = {
  id: 'copied-variables',
  scope: 'pipeline',
  title: 'COPIED variables are those of concurrent iterators',
  level: 'WARNING',
  isOptional: true,
  reason:
    'A change of a COPIED variable is not seen outside of its branch. A team may want COPIED to be the exception that concurrent iterators need, so that every other variable behaves alike.',
  remedy: 'Make the variable SHARED, or set it by a concurrent iterator.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start}
  variables:
    day: {metadata: {type: TEXT, scope: COPIED}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start}
  variables:
    day: {metadata: {type: TEXT, scope: SHARED}}`,
  check({ pipeline, components }, report) {
    const iterated = new Set(
      components
        .filter(({ parameters }) => parameters.concurrency === 'Concurrent')
        .flatMap((component) => listIterationVariables(component)),
    );
    for (const { name, behaviour } of pipeline.variables.values()) {
      if (behaviour !== 'COPIED' || iterated.has(name)) continue;
      const message = `the variable ${quote(name)} is COPIED, and no concurrent iterator sets it: make it SHARED`;
      report({ at: ['pipeline', 'variables', name], message });
    }
  },
};
