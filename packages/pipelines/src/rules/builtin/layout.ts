/** Rules about the components of a pipeline: how many there are, and which of them run. */
import { findDefinition } from '../../components/registry.ts';
import type { Plain } from '../../format/pipeline.ts';
import { getMap, isOrchestration, listTexts, type ReviewedComponent } from '../facts/reviewed-pipeline.ts';
import { type PipelineRule, quote } from './rule.ts';

const count = (standard: number, about: string) =>
  ({ kind: 'integer', standard, least: 0, most: 2_000, about }) as const;

export const maximumComponents: PipelineRule = {
  id: 'maximum-components',
  scope: 'pipeline',
  title: 'A pipeline does not have too many components',
  level: 'WARNING',
  reason:
    'A transformation becomes one statement. With a hundred components it is hard to find the one that is slow or wrong, and the warehouse plans for a long time.',
  remedy: 'Divide the pipeline: let the first part write a table, and the second one read it.',
  parameters: { maxComponents: count(80, 'The largest number of components.') },
  bad: `type: transformation
pipeline:
  components:
${Array.from({ length: 81 }, (_, index) => `    C${index}: {type: generate-sequence}`).join('\n')}`,
  good: `type: transformation
pipeline:
  components:
    Days: {type: generate-sequence}`,
  check({ components, pipeline }, report, options) {
    const most = options.integer('maxComponents');
    if (components.length <= most) return;
    const message = `the ${pipeline.type} has ${components.length} components; at most ${most} are allowed: divide it`;
    report({ at: ['pipeline', 'components'], message });
  },
};

export const minimumComponents: PipelineRule = {
  id: 'minimum-components',
  scope: 'pipeline',
  title: 'A pipeline has enough components',
  level: 'WARNING',
  isOptional: true,
  reason: 'An empty pipeline succeeds and does nothing.',
  remedy: 'Add components, or remove the pipeline.',
  parameters: { minComponents: count(1, 'The smallest number of components.') },
  bad: 'type: transformation\npipeline: {components: {}}',
  good: 'type: transformation\npipeline: {components: {Days: {type: generate-sequence}}}',
  check({ components }, report, options) {
    const least = options.integer('minComponents');
    if (components.length >= least) return;
    const message = `the pipeline has ${components.length} components; at least ${least} are needed: add some, or remove the pipeline`;
    report({ at: ['pipeline'], message });
  },
};

export const unusedComponents: PipelineRule = {
  id: 'unused-components',
  scope: 'pipeline',
  title: 'Every component can run',
  level: 'WARNING',
  reason:
    'A component to which no transition leads never runs, and rows that lead to no output are dropped. It looks as if it did something.',
  remedy: 'Connect the component, or remove it.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start}
    Load: {type: run-transformation, parameters: {transformationJob: load}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: run-transformation, parameters: {transformationJob: load}}`,
  check({ pipeline, components, passed }, report) {
    if (pipeline.type === 'orchestration' && !components.some(({ type }) => type === 'start')) return;
    for (const { name, runs, component } of components) {
      if (runs || passed.has(name)) continue;
      // A skipped target of an iterator is left out on purpose.
      if (isOrchestration(component) && component.skipped) continue;
      const why =
        pipeline.type === 'orchestration' ? 'no transition leads to it' : 'its rows lead to no output';
      report({
        component: name,
        message: `the component ${quote(name)} never runs, because ${why}: connect or remove it`,
      });
    }
  },
};

export const disabledComponents: PipelineRule = {
  id: 'disabled-components',
  scope: 'pipeline',
  title: 'No component on the path is disabled',
  level: 'WARNING',
  reason:
    'A disabled component is passed as if it had succeeded: what follows it works with data that it did not make. It is usually left over from a test.',
  remedy: 'Enable the component, or remove it.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: run-transformation
      skipped: true
      parameters: {transformationJob: load}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: run-transformation, parameters: {transformationJob: load}}`,
  check({ components, passed }, report) {
    for (const { name, component } of components) {
      if (!isOrchestration(component) || !component.skipped || !passed.has(name)) continue;
      const message = `the component ${quote(name)} is disabled, and the walk passes it as if it had succeeded: enable or remove it`;
      report({ component: name, at: ['skipped'], message });
    }
  },
};

const flowTypes: ReadonlySet<string> = new Set(['start', 'end-success', 'end-failure', 'and', 'or']);

/** What the component does, as text; undefined if it has no parameters that say so. */
function describeWork({ component, parameters, raw }: ReviewedComponent): string | undefined {
  const { componentName: _, ...work } = parameters;
  if (!listTexts(work).some(({ text }) => text !== '' && !text.startsWith('['))) return undefined;
  const members = getMap(raw);
  const beside: Record<string, Plain> = {};
  for (const member of ['sources', 'iterationTarget', 'postProcessing', 'skipped'])
    beside[member] = members[member] ?? null;
  return JSON.stringify([component.type, work, beside]);
}

export const duplicateComponents: PipelineRule = {
  id: 'duplicate-components',
  scope: 'pipeline',
  title: 'No two components do the same',
  level: 'INFO',
  reason: 'A copy is corrected in one place and forgotten in the other, and the work is done twice.',
  remedy: 'Use one of the components in both places, or move the work to a pipeline that both call.',
  parameters: {},
  bad: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}
    Same orders: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}`,
  good: `type: transformation
pipeline:
  components:
    Orders: {type: table-input, parameters: {targetTable: orders, columnNames: [id]}}
    Customers: {type: table-input, parameters: {targetTable: customers, columnNames: [id]}}`,
  check({ components }, report) {
    const seen = new Map<string, string>();
    for (const component of components) {
      const work = flowTypes.has(component.type) ? undefined : describeWork(component);
      if (work === undefined) continue;
      const first = seen.get(work);
      if (first === undefined) seen.set(work, component.name);
      else {
        const message = `the component ${quote(component.name)} has the same type and parameters as ${quote(first)}: keep one of them`;
        report({ component: component.name, message });
      }
    }
  },
};

export const startAndEnd: PipelineRule = {
  id: 'start-and-end-components',
  scope: 'pipeline',
  title: 'An orchestration begins with a start and every branch ends with an end',
  level: 'WARNING',
  isOptional: true,
  reason:
    'A branch that just stops leaves open whether its author wanted it to succeed. An end-success or end-failure says so.',
  remedy: 'Add a component of type start, end-success or end-failure.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: run-transformation, parameters: {transformationJob: load}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: run-transformation
      parameters: {transformationJob: load}
      transitions: {success: [Done]}
    Done: {type: end-success}`,
  check({ pipeline, components, passed }, report) {
    if (pipeline.type !== 'orchestration') return;
    if (!components.some(({ type }) => type === 'start'))
      report({ message: 'the orchestration has no component of type start: add one' });
    for (const { name, type, component } of components) {
      if (!isOrchestration(component) || !passed.has(name)) continue;
      if (type === 'end-success' || type === 'end-failure') continue;
      if (Object.values(component.transitions).some((targets) => targets.length > 0)) continue;
      const message = `the branch ends at ${quote(name)}: let it lead to an end-success or end-failure`;
      report({ component: name, message });
    }
  },
};

function isOutput({ component }: ReviewedComponent): boolean {
  const definition = findDefinition(component.type);
  return definition === undefined || (definition.kind === 'transformation' && definition.output);
}

export const maximumOutputs: PipelineRule = {
  id: 'maximum-outputs',
  scope: 'pipeline',
  title: 'A transformation does not have too many outputs',
  level: 'WARNING',
  isOptional: true,
  reason:
    'Each output is a statement of its own. If the second one fails, the first has already written, and the next run writes it again.',
  remedy: 'Divide the transformation, one output in each.',
  parameters: { maxOutputs: count(1, 'The largest number of outputs.') },
  bad: `type: transformation
pipeline:
  components:
    Days: {type: generate-sequence}
    Table a: {type: rewrite-table, sources: [Days], parameters: {targetTable: a}}
    Table b: {type: rewrite-table, sources: [Days], parameters: {targetTable: b}}`,
  good: `type: transformation
pipeline:
  components:
    Days: {type: generate-sequence}
    Table a: {type: rewrite-table, sources: [Days], parameters: {targetTable: a}}`,
  check({ pipeline, components }, report, options) {
    if (pipeline.type !== 'transformation') return;
    const outputs = components.filter(isOutput);
    const most = options.integer('maxOutputs');
    if (outputs.length <= most) return;
    const message = `the transformation has ${outputs.length} outputs; at most ${most} are allowed: divide it`;
    report({ at: ['pipeline', 'components'], message });
  },
};

export const endOutputs: PipelineRule = {
  id: 'end-output-components',
  scope: 'pipeline',
  title: 'Every branch of a transformation ends with an output',
  level: 'WARNING',
  isOptional: true,
  reason: 'The rows of a branch without an output are computed for nothing.',
  remedy: 'Add an output, or remove the branch.',
  parameters: {},
  bad: 'type: transformation\npipeline: {components: {Days: {type: generate-sequence}}}',
  good: `type: transformation
pipeline:
  components:
    Days: {type: generate-sequence}
    Table a: {type: rewrite-table, sources: [Days], parameters: {targetTable: a}}`,
  check({ pipeline, components }, report) {
    if (pipeline.type !== 'transformation') return;
    const read = new Set([...pipeline.components.values()].flatMap(({ sources }) => sources));
    for (const component of components) {
      if (read.has(component.name) || isOutput(component)) continue;
      const message = `the branch ends at ${quote(component.name)}, which is no output: add one, or remove the branch`;
      report({ component: component.name, message });
    }
  },
};
