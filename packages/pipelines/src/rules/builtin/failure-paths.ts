/** Rules about what happens after a failure. */

import type { OrchestrationComponent } from '../../format/pipeline.ts';
import { mayHaveEffect } from '../../plan/effects.ts';
import { isOrchestration } from '../facts/reviewed-pipeline.ts';
import { listNames, type PipelineRule, quote } from './rule.ts';

export const failurePath: PipelineRule = {
  id: 'failure-path',
  scope: 'pipeline',
  title: 'A step with an effect has a failure path',
  level: 'INFO',
  reason:
    'If a step with an effect fails without a failure path, the pipeline just ends. Nothing cleans up what earlier steps did, and only an alert rule tells anybody.',
  remedy: 'Add a transition `failure` that cleans up or tells somebody, and ends with an end-failure.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load: {type: sql-script, parameters: {sqlScript: "insert into a values (1)"}}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: sql-script
      parameters: {sqlScript: "insert into a values (1)"}
      transitions: {failure: [Failed]}
    Failed: {type: end-failure}`,
  check({ pipeline, components }, report) {
    if (pipeline.type !== 'orchestration') return;
    const targets = new Set([...pipeline.components.values()].map(({ iterationTarget }) => iterationTarget));
    const without = components.filter(
      ({ name, runs, component }) =>
        runs &&
        isOrchestration(component) &&
        mayHaveEffect(component.type) &&
        !targets.has(name) &&
        component.transitions.failure.length === 0 &&
        component.transitions.unconditional.length === 0,
    );
    const [first] = without;
    if (first === undefined) return;
    const names = without.map(({ name }) => name);
    const have =
      names.length === 1
        ? 'component that may change something has'
        : 'components that may change something have';
    const message = `${names.length} ${have} no failure path: ${listNames(names)}: add a transition "failure"`;
    report({ component: first.name, message });
  },
};

/** Components that leave no message. */
const silentTypes: ReadonlySet<string> = new Set(['start', 'and', 'or', 'end-success', 'update-scalar']);

export const silentFailurePath: PipelineRule = {
  id: 'silent-failure-path',
  scope: 'pipeline',
  title: 'A failure does not end in success without a word',
  level: 'WARNING',
  reason:
    'A failure path that leads to a success without a message hides the failure: the execution is green, and the data is missing.',
  remedy: 'End the path with an end-failure, or print or send what failed before the end.',
  parameters: {},
  bad: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: run-transformation
      parameters: {transformationJob: load}
      transitions: {failure: [Done]}
    Done: {type: end-success}`,
  good: `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Load]}}
    Load:
      type: run-transformation
      parameters: {transformationJob: load}
      transitions: {failure: [Failed]}
    Failed: {type: end-failure}`,
  check({ pipeline, components }, report) {
    if (pipeline.type !== 'orchestration') return;
    const all = pipeline.components;
    for (const { name, component, runs } of components) {
      if (!runs || !isOrchestration(component) || component.skipped) continue;
      const end = component.transitions.failure
        .map((target) => findSilentEnd(all, target))
        .find((found) => found !== undefined);
      if (end === undefined || component.outputMessage !== undefined) continue;
      const message = `a failure of ${quote(name)} leads to ${quote(end)}, which succeeds, and no step on the way says that something failed: end it with an end-failure, or send a message`;
      report({ component: name, at: ['transitions', 'failure'], message });
    }
  },
};

/** The end that is reached from a component over silent ones only. */
function findSilentEnd(all: ReadonlyMap<string, OrchestrationComponent>, first: string): string | undefined {
  const seen = new Set<string>();
  const open = [first];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const component = all.get(name);
    if (component === undefined || seen.has(name) || component.outputMessage !== undefined) continue;
    seen.add(name);
    if (!silentTypes.has(component.type) && !component.skipped) continue;
    if (component.type === 'end-success') return name;
    // An `and` waits for other branches, which may be those of a success.
    if (component.type === 'and') continue;
    const next = [...component.transitions.success, ...component.transitions.unconditional];
    if (next.length === 0) return name;
    open.push(...next);
  }
  return undefined;
}
