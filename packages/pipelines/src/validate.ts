/** What can be said about a project's pipelines before any of them runs. */
import type { ComponentDefinition } from './components/component.ts';
import { findDefinition, unknownTypeMessage } from './components/registry.ts';
import type { Finding, Project, Report } from './finding.ts';
import { parsePipeline } from './parse.ts';
import {
  type Orchestration,
  type OrchestrationComponent,
  type Pipeline,
  type PlainMap,
  pipelineTypeOf,
} from './pipeline.ts';
import { callCycles, checkCall, checkSharedCalls } from './validate-calls.ts';
import { checkTransformation } from './validate-transformation.ts';
import { checkExpressions, checkUpdates, secondCells } from './validate-variables.ts';

export interface ProjectFile {
  path: string;
  text: string;
}

/**
 * Checks all pipelines of a project together. Files that are no pipelines are passed over.
 *
 * @param projectVariables names of the project's variables, when they are known
 */
export function validateProject(
  files: Iterable<ProjectFile>,
  projectVariables: readonly string[] = [],
): Finding[] {
  const findings: Finding[] = [];
  const pipelines = new Map<string, Pipeline>();
  for (const { path, text } of files) {
    if (pipelineTypeOf(path) === undefined) continue;
    const { pipeline, error } = parsePipeline(path, text);
    if (pipeline !== undefined) pipelines.set(path, pipeline);
    else {
      const message = `line ${error.line}, column ${error.column}: ${error.message}`;
      findings.push({ path, code: 'syntax-error', message, level: 'error' });
    }
  }
  const project = { pipelines, variables: new Set(projectVariables) };
  for (const pipeline of pipelines.values()) {
    const report: Report = (finding) => findings.push({ path: pipeline.path, ...finding });
    checkComponents(pipeline, project, report);
    if (pipeline.type === 'orchestration') checkOrchestration(pipeline, project, report);
    else checkTransformation(pipeline, report);
  }
  findings.push(...callCycles(pipelines));
  return findings;
}

function checkComponents(pipeline: Pipeline, project: Project, report: Report): void {
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
    checkExpressions(name, parameters, pipeline, project, report);
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

function checkOrchestration(orchestration: Orchestration, project: Project, report: Report): void {
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
    checkUpdates(component, orchestration, project, report);
    checkCall(component, orchestration, project, report);
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
