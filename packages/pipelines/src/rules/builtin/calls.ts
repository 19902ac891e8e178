/** Rules about calls of pipelines, and about schedules. */
import type { PipelineFacts, ProjectFacts } from '../facts/pipeline-facts.ts';
import { type ProjectRule, quote } from './rule.ts';

const call = (next: string) => `type: orchestration
pipeline:
  components:
    Start: {type: start, transitions: {unconditional: [Next]}}
    Next: {type: run-orchestration, parameters: {orchestrationJob: ${next}}}`;
const last = 'type: orchestration\npipeline:\n  components:\n    Start: {type: start}';

const chainOf = (levels: number) => ({
  files: Object.fromEntries(
    Array.from({ length: levels }, (_, index) => [
      `level ${index + 1}.orch.yaml`,
      index + 1 === levels ? last : call(`level ${index + 2}`),
    ]),
  ),
});

export const maximumDepth: ProjectRule = {
  id: 'maximum-depth',
  scope: 'project',
  title: 'Pipelines do not call each other over too many levels',
  level: 'WARNING',
  reason:
    'A failure six calls down is found only by opening six executions, and a variable must be passed on six times.',
  remedy: 'Call the lower pipelines from the upper one, or join levels that only pass on.',
  parameters: {
    maxLevels: {
      kind: 'integer',
      about: 'The largest number of pipelines in a chain of calls, with the first one.',
      standard: 5,
      least: 1,
      most: 50,
    },
  },
  bad: chainOf(6),
  good: chainOf(5),
  check(project, report, options) {
    const most = options.integer('maxLevels');
    const called = new Set([...project.pipelines.values()].flatMap(({ calls }) => calls.map(({ to }) => to)));
    const measure = createMeasure(project);
    for (const facts of project.pipelines.values()) {
      // Only the pipeline at the beginning of a chain has the finding.
      if (called.has(facts.path)) continue;
      const chain = measure(facts.path);
      if (chain.length <= most) continue;
      const first = facts.calls.find(({ to }) => to === chain[1]);
      const message = `a chain of calls has ${chain.length} levels; at most ${most} are allowed: ${chain.slice(0, 8).map(quote).join(' → ')}${chain.length > 8 ? ' → …' : ''}`;
      const place = first === undefined ? { line: 1 } : { component: first.component, line: first.line };
      report(facts.path, { ...place, message });
    }
  },
};

/** Calls that are followed: runs end at this depth. */
const followedLevels = 50;

/** The longest chain of calls from a pipeline. A circle, which has a finding of its own, is followed once. */
function createMeasure({ pipelines }: ProjectFacts): (path: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  const measure = (path: string, depth: number): readonly string[] => {
    const facts: PipelineFacts | undefined = pipelines.get(path);
    const found = known.get(path);
    if (found !== undefined || facts === undefined || depth >= followedLevels) return found ?? [];
    known.set(path, [path]);
    let longest: readonly string[] = [];
    for (const to of new Set(facts.calls.map((each) => each.to))) {
      const chain = measure(to, depth + 1);
      if (chain.length > longest.length) longest = chain;
    }
    const chain = [path, ...longest];
    known.set(path, chain);
    return chain;
  };
  return (path) => measure(path, 0);
}

const scheduled = { 'load.orch.yaml': last };
const schedule = { name: 'nightly', pipelineName: 'load.orch.yaml', environmentName: 'prod' };

export const schedulesWithoutAlert: ProjectRule = {
  id: 'schedule-without-alert',
  scope: 'project',
  title: 'An alert tells about a failed schedule',
  level: 'WARNING',
  reason: 'Schedules run at night. Without an alert rule a failure is noticed only when the data is missing.',
  remedy: 'Create an alert rule for the pipeline, the environment or the project.',
  parameters: {},
  bad: { files: scheduled, server: { schedules: [{ ...schedule, hasAlert: false }] } },
  good: { files: scheduled, server: { schedules: [{ ...schedule, hasAlert: true }] } },
  check({ pipelines, server }, report) {
    for (const { name, pipelineName, environmentName, hasAlert } of server?.schedules ?? []) {
      if (hasAlert || !pipelines.has(pipelineName)) continue;
      const message = `the schedule ${quote(name)} in ${quote(environmentName)} runs this pipeline, and no alert rule tells about a failure: create one`;
      report(pipelineName, { line: 1, message });
    }
  },
};
