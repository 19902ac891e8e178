/** Checks a pipeline using its own file only. Questions about other files are answered in link.ts. */
import type { ComponentDefinition } from '../components/definition/component.ts';
import { listParameterNames, renameParameters } from '../components/definition/declared-parameters.ts';
import { omitLiteralParameters } from '../components/definition/literal-parameters.ts';
import { isFileAddress } from '../components/file-format.ts';
import { describeUnknownType, findDefinition, listComponentTypes } from '../components/registry.ts';
import { listConnectionSecrets } from '../connectors/connection-properties.ts';
import type { EndpointSource } from '../connectors/load/endpoint-load.ts';
import { createSuggestions, type Suggestions } from '../format/nearest.ts';
import type { Pipeline, PlainMap } from '../format/pipeline.ts';
import type { Draft, Notes } from './finding.ts';
import { checkAttempts } from './validate-attempts.ts';
import { checkOrchestration } from './validate-orchestration.ts';
import { checkEffect, checkParameterNames } from './validate-parameters.ts';
import { checkPlan } from './validate-plan.ts';
import { checkTransformation } from './validate-transformation.ts';
import { checkDefaults, checkExpressions, checkSecrets } from './validate-variables.ts';

export function checkPipeline(pipeline: Pipeline, notes: Notes): void {
  checkDefaults(pipeline, notes);
  // An empty canvas is valid and does nothing (pipelines.md).
  if (pipeline.components.size === 0) return;
  const suggest = createSuggestions();
  const faulty = checkComponents(pipeline, notes, suggest);
  checkEffect(pipeline, notes.report);
  if (pipeline.type === 'orchestration') checkOrchestration(pipeline, notes, suggest);
  else checkTransformation(pipeline, notes, faulty, suggest);
}

/** Returns the names of components with an error. */
function checkComponents(pipeline: Pipeline, notes: Notes, suggest: Suggestions): Set<string> {
  const faulty = new Set<string>();
  const report = (draft: Draft) => {
    if (draft.level === 'error' && draft.component !== undefined) faulty.add(draft.component);
    notes.report(draft);
  };
  for (const component of pipeline.components.values()) {
    const { name, type, parameters } = component;
    for (const { member, meant, inside } of component.misspelled ?? []) {
      const message = `${inside ?? 'a component'} has no "${member}": did you mean "${meant}"?`;
      const code = 'misspelled-member';
      const at = [...(inside === undefined ? [] : [inside]), member];
      report({ component: name, at, code, message, level: 'error', passing: true });
    }
    const definition = findDefinition(type);
    if (definition?.kind !== pipeline.type) {
      report(createTypeFinding(component, pipeline, suggest));
      continue;
    }
    checkParameterNames(component, definition, report);
    checkAttempts(component, definition, report);
    const { scripts, others } = takeScripts(omitLiteralParameters(parameters, definition), definition);
    checkExpressions(name, others, pipeline, { ...notes, report });
    checkSecrets({ component: name }, scripts, notes);
    checkFiles(name, definition, parameters, notes);
    if (definition.kind !== 'orchestration') continue;
    if (pipeline.type !== 'orchestration' || faulty.has(name)) continue;
    const orchestrated = pipeline.components.get(name);
    const action = orchestrated && checkPlan(orchestrated, definition, report);
    if (action?.action === 'load-endpoint') checkEndpoint(name, action.source, notes);
  }
  return faulty;
}

/** Asks for the profile, the endpoint and the secrets that a connector names. */
function checkEndpoint(
  component: string,
  { profile, endpoint, connection }: EndpointSource,
  notes: Notes,
): void {
  for (const name of listConnectionSecrets(connection))
    if (!name.includes('${')) notes.ask({ asks: 'secret', component, name });
  notes.ask({ asks: 'endpoint', component, profile, endpoint, connection });
}

/** Scripts contain `${…}` that are not expressions, so only their secrets are checked. */
function takeScripts(
  written: PlainMap,
  definition: ComponentDefinition,
): { scripts: string[]; others: PlainMap } {
  const parameters = Object.entries(renameParameters(written, definition.parameters));
  const names = listParameterNames(definition.parameters, 'script');
  return {
    scripts: parameters.flatMap(([name, value]) =>
      names.includes(name) && typeof value === 'string' ? [value] : [],
    ),
    others: Object.fromEntries(parameters.filter(([name]) => !names.includes(name))),
  };
}

function createTypeFinding(
  { name: component, type, parameters }: { name: string; type: string; parameters: PlainMap },
  { path, type: where }: Pipeline,
  suggest: Suggestions,
): Draft {
  const known = findDefinition(type) !== undefined;
  const remedy = known
    ? ''
    : suggest(type, () => listComponentTypes(where), 'replace the component or skip it');
  return {
    component,
    at: ['type'],
    code: known ? 'component-type-misplaced' : 'unknown-component-type',
    level: 'error',
    message: describeUnknownType(type, path, where, remedy, parameters),
  };
}

/** Asks for the named files. A name that is an expression is known only during the run. */
function checkFiles(
  component: string,
  definition: ComponentDefinition,
  parameters: PlainMap,
  notes: Notes,
): void {
  const naming = listParameterNames(definition.parameters, 'file');
  const remote = listParameterNames(definition.parameters, 'address');
  for (const parameter of naming) {
    const path = parameters[parameter];
    if (typeof path !== 'string' || path === '' || path.includes('${')) continue;
    if (!(isFileAddress(path) && remote.includes(parameter)))
      notes.ask({ asks: 'file', component, at: ['parameters', parameter], path });
  }
}
