/**
 * What can be said about a pipeline before it runs, as far as its own file tells; the rest it asks (link.ts
 * answers).
 */
import type { ComponentDefinition } from './components/component.ts';
import { componentTypes, findDefinition, unknownTypeMessage } from './components/registry.ts';
import type { Draft, Notes, Report } from './finding.ts';
import { createSuggestions, type Suggestions } from './nearest.ts';
import type { Pipeline, PlainMap } from './pipeline.ts';
import { checkOrchestration } from './validate-orchestration.ts';
import { checkPlan } from './validate-plan.ts';
import { checkTransformation } from './validate-transformation.ts';
import { checkDefaults, checkExpressions } from './validate-variables.ts';

export function checkPipeline(pipeline: Pipeline, notes: Notes): void {
  checkDefaults(pipeline, notes);
  // An empty canvas is valid and does nothing (pipelines.md).
  if (pipeline.components.size === 0) return;
  const suggest = createSuggestions();
  const faulty = checkComponents(pipeline, notes, suggest);
  if (pipeline.type === 'orchestration') checkOrchestration(pipeline, notes, suggest);
  else checkTransformation(pipeline, notes, faulty, suggest);
}

/** Answers the names of components that have an error. */
function checkComponents(pipeline: Pipeline, notes: Notes, suggest: Suggestions): Set<string> {
  const faulty = new Set<string>();
  const report = (draft: Draft) => {
    if (draft.level === 'error' && draft.component !== undefined) faulty.add(draft.component);
    notes.report(draft);
  };
  for (const component of pipeline.components.values()) {
    const { name, type, parameters } = component;
    for (const { member, meant } of component.misspelled ?? []) {
      const message = `a component has no "${member}": did you mean "${meant}"?`;
      const code = 'misspelled-member';
      report({ component: name, at: [member], code, message, level: 'error', passing: true });
    }
    const definition = findDefinition(type);
    if (definition?.kind !== pipeline.type) {
      report(typeFault(name, type, pipeline, suggest));
      continue;
    }
    checkParameters(name, definition, parameters, report);
    checkExpressions(name, parameters, pipeline, { ...notes, report });
    checkFiles(name, definition, parameters, notes);
    if (definition.kind !== 'orchestration') continue;
    if (pipeline.type !== 'orchestration' || faulty.has(name)) continue;
    const orchestrated = pipeline.components.get(name);
    if (orchestrated !== undefined) checkPlan(orchestrated, definition, report);
  }
  return faulty;
}

function typeFault(
  component: string,
  type: string,
  { path, type: where }: Pipeline,
  suggest: Suggestions,
): Draft {
  const known = findDefinition(type) !== undefined;
  const remedy = known ? '' : suggest(type, () => componentTypes(where), 'replace the component or skip it');
  return {
    component,
    at: ['type'],
    code: known ? 'component-type-misplaced' : 'unknown-component-type',
    level: 'error',
    message: unknownTypeMessage(type, path, where, remedy),
  };
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
    report({ component, at: ['parameters', parameter], code: 'missing-parameter', message, level: 'error' });
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
      notes.ask({ asks: 'file', component, at: ['parameters', parameter], path });
  }
}
