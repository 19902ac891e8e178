// `npm run bench` measures the server and prints each number beside its limit, if possible as a ratio to a
// peer that is measured in the same run. A missed limit does not fail the command.
import { writeFileSync } from 'node:fs';
import { readCommandLine } from '../scripts/command-line.ts';
import { agents } from './agents.ts';
import { aiTasks } from './ai-tasks.ts';
import { artifactComparison } from './artifact-comparison.ts';
import { artifactList } from './artifact-list.ts';
import { claimLatency } from './claim-latency.ts';
import { cloneHere } from './clone-here.ts';
import { connectors } from './connectors.ts';
import { consumption } from './consumption.ts';
import { directory } from './directory.ts';
import { eventStream } from './event-stream.ts';
import { eventsByTime } from './events-by-time.ts';
import { executionList } from './execution-list.ts';
import { fairShares } from './fair-shares.ts';
import { faultyBodies } from './faulty-bodies.ts';
import { fileLoad } from './file-load.ts';
import { type Finding, table } from './finding.ts';
import { gitPublication } from './git-publication.ts';
import { hostile } from './hostile.ts';
import { pageInLargeAccount } from './large-account.ts';
import { lineage } from './lineage.ts';
import { lineageGraph } from './lineage-graph.ts';
import { migration, migrationsBeside } from './migrations.ts';
import { permissionCheck } from './permission-check.ts';
import { postgresWork } from './postgres-work.ts';
import { projectDeletion } from './project-deletion.ts';
import { readyTime } from './ready-time.ts';
import { residentMemory } from './resident-memory.ts';
import { runMemory } from './run-memory.ts';
import { runSteps } from './run-steps.ts';
import { runawayScripts } from './runaway-scripts.ts';
import { runs } from './runs.ts';
import { schedulesDue } from './schedules.ts';
import { secretWrite } from './secret-write.ts';
import { sqlRewriting } from './sql-rewriting.ts';
import { sweep } from './sweep.ts';
import { transformation } from './transformation.ts';
import { uploads } from './upload.ts';
import { userWithGroups } from './user-with-groups.ts';
import { pageOfVariables, writeVariable } from './variables.ts';
import { webhooks } from './webhooks.ts';
import type { Work } from './work.ts';
import { workCycles } from './work-cycles.ts';

const works: Record<string, Work> = {
  page: pageOfVariables,
  write: writeVariable,
  'large-account': pageInLargeAccount,
  ready: readyTime,
  memory: residentMemory,
  claim: claimLatency,
  sweep,
  runs,
  'fair-shares': fairShares,
  schedules: schedulesDue,
  'run-memory': runMemory,
  'runaway-scripts': runawayScripts,
  cycles: workCycles,
  agents,
  secret: secretWrite,
  permission: permissionCheck,
  'user-groups': userWithGroups,
  'faulty-bodies': faultyBodies,
  deletion: projectDeletion,
  directory,
  consumption,
  events: eventsByTime,
  'lineage-graph': lineageGraph,
  'event-stream': eventStream,
  webhooks,
  'ai-tasks': aiTasks,
  migration,
  'migrations-beside': migrationsBeside,
  executions: executionList,
  steps: runSteps,
  'artifact-list': artifactList,
  'artifact-comparison': artifactComparison,
  'git-publication': gitPublication,
  upload: uploads,
  'clone-here': cloneHere,
  'sql-rewriting': sqlRewriting,
  transformation,
  lineage,
  connectors,
  'file-load': fileLoad,
  'postgres-work': postgresWork,
  hostile,
};

const { values, positionals, count, refuse } = readCommandLine(
  'npm run bench -- [work …] [--rounds N] [--seconds N] [--json FILE] [--profile FOLDER] [--shape PART]',
  {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '2' },
    json: { type: 'string' },
    profile: { type: 'string' },
    shape: { type: 'string', default: '' },
  },
);
const unknown = positionals.filter((name) => !(name in works));
if (unknown.length > 0)
  refuse(`There is no work '${unknown.join("', '")}'. There are: ${Object.keys(works).join(', ')}.`);
const settings = {
  rounds: count('--rounds', values.rounds),
  milliseconds: count('--seconds', values.seconds) * 1_000,
  profileFolder: values.profile,
  shape: values.shape,
};
const findings: Finding[] = [];
for (const [name, work] of Object.entries(works)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  console.log(name);
  findings.push(...(await work(settings)));
}
console.log(`\n${table(findings)}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(findings, null, 2)}\n`);
