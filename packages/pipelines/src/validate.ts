/** What can be said about a pipeline before it runs, as far as its own file tells; the rest it asks (link.ts answers). */
import type { ComponentDefinition } from './components/component.ts';
import { findDefinition, unknownTypeMessage } from './components/registry.ts';
import type { Notes, Report } from './finding.ts';
import type { Orchestration, OrchestrationComponent, Pipeline, PlainMap } from './pipeline.ts';
import { checkCall, checkSharedCalls } from './validate-calls.ts';
import { checkTransformation } from './validate-transformation.ts';
import {
  checkBareExpressions,
  checkDefaults,
  checkExpressions,
  checkNamedVariables,
  secondCells,
} from './validate-variables.ts';

export function checkPipeline(pipeline: Pipeline, notes: Notes): void {
  checkDefaults(pipeline, notes);
  checkComponents(pipeline, notes);
  if (pipeline.type === 'orchestration') checkOrchestration(pipeline, notes);
  else checkTransformation(pipeline, notes.report);
}

function checkComponents(pipeline: Pipeline, notes: Notes): void {
  const { report } = notes;
  for (const component of pipeline.components.values()) {
    const { name, type, parameters } = component;
    const definition = findDefinition(type);
    if (definition?.kind !== pipeline.type) {
      const code = definition === undefined ? 'unknown-component-type' : 'component-type-misplaced';
      const level = definition === undefined ? 'warning' : 'error';
      report({
        component: name,
        code,
        level,
        message: unknownTypeMessage(type, pipeline.path, pipeline.type),
      });
      continue;
    }
    checkParameters(name, definition, parameters, report);
    checkExpressions(name, parameters, pipeline, notes);
    checkFiles(name, definition, parameters, notes);
  }
}

function checkParameters(
  component: string,
  definition: ComponentDefinition,
  parameters: PlainMap,
  report: Report,
): void {
  for (const parameter of definition.required) {
    const value = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined;
    if (value !== undefined && value !== null && value !== '') continue;
    const message = `the parameter "${parameter}" is missing: fill it in`;
    report({ component, code: 'missing-parameter', message, level: 'error' });
  }
}

/** Names that are known before the run; an expression is not. */
function checkFiles(
  component: string,
  definition: ComponentDefinition,
  parameters: PlainMap,
  notes: Notes,
): void {
  const naming = definition.kind === 'orchestration' ? (definition.files ?? []) : [];
  for (const parameter of naming) {
    const path = parameters[parameter];
    if (typeof path === 'string' && path !== '' && !path.includes('${'))
      notes.ask({ asks: 'file', component, path });
  }
}

function checkOrchestration(orchestration: Orchestration, notes: Notes): void {
  const { report } = notes;
  const starts = [...orchestration.components.values()].filter(({ type }) => type === 'start');
  if (starts.length === 0) {
    report({
      code: 'missing-start',
      message: 'the orchestration has no component of type start: add one',
      level: 'error',
    });
  }
  if (starts.length > 1) {
    const names = starts.map(({ name }) => `"${name}"`).join(', ');
    report({
      code: 'several-starts',
      message: `several components are of type start (${names}): keep one`,
      level: 'error',
    });
  }
  for (const component of orchestration.components.values()) {
    checkTransitions(component, orchestration, report);
    checkIterator(component, orchestration, report);
    checkNamedVariables(component, orchestration, notes);
    checkBareExpressions(component, notes);
    checkCall(component, notes);
  }
  checkSharedCalls(orchestration, report);
  checkReachable(orchestration, report);
}

function checkTransitions(
  component: OrchestrationComponent,
  orchestration: Orchestration,
  report: Report,
): void {
  for (const [kind, targets] of Object.entries(component.transitions)) {
    if (targets.length > 0 && (kind === 'true' || kind === 'false') && component.type !== 'if') {
      const message = `only an if has a transition "${kind}", not ${component.type}`;
      report({ component: component.name, code: 'transition-not-allowed', message, level: 'error' });
    }
    for (const target of targets.filter((each) => !orchestration.components.has(each))) {
      const message = `the transition "${kind}" leads to "${target}", which is no component of this pipeline`;
      report({ component: component.name, code: 'dangling-transition', message, level: 'error' });
    }
  }
}

function checkIterator(
  component: OrchestrationComponent,
  orchestration: Orchestration,
  report: Report,
): void {
  if (component.type !== 'grid-iterator') return;
  const target = component.iterationTarget;
  if (target === undefined || !orchestration.components.has(target)) {
    const what =
      target === undefined ? 'it has no iterationTarget' : `its iterationTarget "${target}" does not exist`;
    const message = `${what}: connect the component that it shall run`;
    report({ component: component.name, code: 'missing-iteration-target', message, level: 'error' });
  }
  if (component.parameters.concurrency !== 'Concurrent') return;
  for (const variable of secondCells(component.parameters.gridIteratorVariableMapping)) {
    if (orchestration.variables.get(variable)?.behaviour !== 'SHARED') continue;
    const message = `concurrent iterations overwrite each other's "${variable}", which is SHARED: make it COPIED`;
    report({ component: component.name, code: 'shared-iterator-variable', message, level: 'warning' });
  }
}

function checkReachable(orchestration: Orchestration, report: Report): void {
  const reached = new Set<string>();
  const open = [...orchestration.components.values()].filter(({ type }) => type === 'start');
  if (open.length === 0) return;
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (reached.has(component.name)) continue;
    reached.add(component.name);
    const next = [...Object.values(component.transitions).flat(), component.iterationTarget ?? ''];
    open.push(...next.map((name) => orchestration.components.get(name)).filter((each) => each !== undefined));
  }
  for (const name of orchestration.components.keys()) {
    if (reached.has(name)) continue;
    report({
      component: name,
      code: 'unreachable-component',
      message: 'no transition leads here: it never runs',
      level: 'warning',
    });
  }
}
