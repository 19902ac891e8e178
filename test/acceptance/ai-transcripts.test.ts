/**
 * Twenty transcripts of AI tasks on the example projects, with a scripted model and the real agent. They are judged
 * by what the pipelines then do: they test the tools, and say nothing about a model.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ModelServer, nameModel, startModelServer } from '../../packages/server/testing/model-server.ts';
import { Talk } from './harness/ai-talk.ts';
import {
  commit,
  edit,
  hello,
  replaceText,
  type Transcript,
  totals,
  transcripts,
  write,
} from './harness/ai-transcripts.ts';
import type { ApiClient } from './harness/client.ts';
import { exampleFiles } from './harness/examples.ts';
import { HostedProject } from './harness/hosted-project.ts';
import { Installation } from './harness/installation.ts';
import { Project } from './harness/project.ts';

const greeting = 'select * from greeting';
const countColumns = (table: string, like: string) =>
  `select count(*) from information_schema.columns where table_name = '${table}' and column_name like '${like}'`;

describe('transcripts of AI tasks', () => {
  let model: ModelServer;
  let headgate: Installation;
  let client: ApiClient;
  const projects = new Map<string, Project>();

  before(async () => {
    model = await startModelServer('openai');
    headgate = await Installation.create({ environment: nameModel(model) });
    await headgate.start();
    client = headgate.client();
  });
  after(async () => {
    await headgate.remove();
    await model.close();
    assert.deepEqual(model.faults, []);
  });

  for (const [index, transcript] of transcripts.entries())
    it(transcript.title, async () => {
      const project = await findProject(transcript);
      const files = exampleFiles(transcript.example);
      transcript.given?.(files);
      await project.publish(files, 'dev', `${index}`);
      for (const name of transcript.earlier ?? []) await project.run(name, 'dev');
      const { mode = 'ACT', calls, says = [], denied, merged, query, rows } = transcript;
      const config = { projectId: project.id, mode };
      const talk = await Talk.start({ client, model }, transcript.title, {
        ...{ config, denied, says },
        calls: calls(files),
      });
      if (denied || mode === 'PLAN') assert.deepEqual((await talk.changes()).files, []);
      if (merged !== undefined) {
        await talk.merge({ versionName: `${index} merged` });
        for (const name of merged) await runOf(project, name);
      }
      if (query !== undefined) assert.deepEqual(await read(project, query), rows);
    });

  async function findProject({ example, hasOwnProject }: Transcript): Promise<Project> {
    const found = projects.get(example);
    if (found !== undefined && !hasOwnProject) return found;
    const made = await Project.create(client);
    if (!hasOwnProject) projects.set(example, made);
    return made;
  }

  async function runOf(project: Project, name: string): Promise<void> {
    const execution = await project.run(name, 'dev');
    assert.equal(execution.status, 'SUCCESS', execution.message);
  }

  async function read(project: Project, sql: string): Promise<unknown[][]> {
    const body = { environmentName: 'dev', sql };
    return (await client.ask('POST', `${project.path}/warehouse-queries`, body)).rows;
  }

  describe('on a repository that is hosted here', () => {
    let hosted: HostedProject;
    before(async () => {
      const files = { ...exampleFiles('hello-world'), ...exampleFiles('orders') };
      hosted = await HostedProject.create(client, files);
    });

    /** A task on the hosted repository. */
    function talkAbout(message: string, config: object, notice: Omit<Parameters<Talk['say']>[1], never>) {
      return Talk.start({ client, model }, message, {
        config: { projectId: hosted.project.id, ...config },
        ...notice,
      });
    }

    /** A person merges, and the rule publishes. */
    async function mergeAndPublish(talk: Talk): Promise<void> {
      const merged = await talk.merge();
      assert.equal(merged.branchName, 'main');
      await hosted.published(merged.commitId);
    }

    const readFile = async (path: string, branch?: string) => ({ [path]: await hosted.read(path, branch) });

    it('change a default value, on a generated branch that a rule publishes after the merge', async () => {
      const files = await readFile(hello);
      const calls = [edit(files, hello, 'Hello, world', 'Hello, Oslo'), commit];
      const talk = await talkAbout('Greet Oslo', { generateBranch: true }, { calls });
      const changes = await talk.changes();
      assert.match(changes.branchName ?? '', /^ai\/task-/);
      assert.deepEqual(changes.files, [{ path: hello, change: 'modified', isCommitted: true }]);
      assert.match(changes.patch, /^-.*Hello, world\n\+.*Hello, Oslo$/m);
      assert.equal((await hosted.read(hello)).includes('Oslo'), false, 'nothing on main before the merge');
      await mergeAndPublish(talk);
      await runOf(hosted.project, 'hello');
      assert.deepEqual(await read(hosted.project, greeting), [['Hello, Oslo']]);
    });

    it('add a column to another branch, after a finding, and publish it from Git', async () => {
      await hosted.addBranch('work');
      const files = await readFile(hello);
      files[hello] = replaceText(files, hello, 'AS text', 'AS text, 7 AS number');
      const wrong = edit(files, hello, 'type: print-variables', 'type: print-variable');
      const config = { sourceBranchName: 'work', targetBranchName: 'add-number', generateBranch: true };
      const talk = await talkAbout('Add a number', config, { calls: [wrong, commit] });
      const [finding] = (await talk.changes()).findings;
      assert.deepEqual([finding?.path, finding?.level], [hello, 'error']);
      await talk.say('Repair it', { calls: [write(hello, files[hello]), commit] });
      const { findings, branchName } = await talk.changes();
      assert.deepEqual([findings, branchName], [[], 'add-number']);
      assert.equal((await talk.merge()).branchName, 'work');
      await hosted.publishFromGit('work');
      await runOf(hosted.project, 'hello');
      assert.deepEqual(await read(hosted.project, greeting), [['Hello, Oslo', 7]]);
    });

    it('add an aggregation in a folder, on the source branch itself, and run the tests', async () => {
      const files = await readFile(totals);
      const config = { workingDirectory: 'Orders/Transform', generateBranch: false };
      const talk = await talkAbout('Take the largest', config, {
        calls: [
          { name: 'list_files', input: {} },
          write(hello, 'owned'),
          edit(files, totals, '- ["amount", "Sum"]', '- ["amount", "Max"]'),
          commit,
        ],
        says: [
          /^Orders\/Transform\/Totals[^\n]*$/,
          /outside of the working directory/,
          /Changed/,
          /nothing to merge/,
        ],
      });
      await hosted.published((await talk.changes()).commitId ?? '');
      await talk.say('Run the tests', {
        calls: [{ name: 'run_tests', input: {} }],
        says: [/is FAILED[\s\S]*sum_amount/],
      });
      const [tests] = (await talk.changes()).runs;
      assert.deepEqual([tests?.kind, tests?.status], ['TESTS', 'FAILED']);
      await mergeAndPublish(talk);
      await runOf(hosted.project, 'Orders/Load orders');
      assert.deepEqual(await read(hosted.project, countColumns('totals', 'max_amount')), [[1]]);
    });

    it('write to another table: a conflict, a discard, and the same again', async () => {
      const { [totals]: text = '' } = await readFile(totals);
      const other = (files: Record<string, string>) => [
        edit(files, totals, 'targetTable: "totals"', 'targetTable: "order_totals"'),
        commit,
      ];
      const talk = await talkAbout('Write to order_totals', {}, { calls: other({ [totals]: text }) });
      const { branchName = '', digest } = await talk.changes();
      const changed = { [totals]: text.replace('"Max"', '"Min"') };
      const byPerson = await hosted.commit('The smallest', changed);
      const refused = await client.call('POST', `${talk.path}/merge`, { body: { digest } });
      assert.deepEqual([refused.status, refused.body.code], [409, 'ai-task-merge-conflict']);
      assert.ok(
        refused.body.detail.includes(`"${totals}"`) && refused.body.detail.includes(`"${branchName}"`),
      );
      await client.ask('POST', `${talk.path}/discard`);
      assert.ok(!(await hosted.branches()).includes(branchName));
      await hosted.published(byPerson);
      await runOf(hosted.project, 'Orders/Transform/Totals');
      assert.deepEqual(await read(hosted.project, countColumns('totals', 'min_amount')), [[1]]);
      assert.deepEqual(await read(hosted.project, countColumns('order_totals', '%')), [[0]]);
      await talk.say('Do it again', { calls: other(changed) });
      await mergeAndPublish(talk);
      await runOf(hosted.project, 'Orders/Transform/Totals');
      assert.deepEqual(await read(hosted.project, countColumns('order_totals', 'min_amount')), [[1]]);
    });

    it('make it incremental, and go on after the merge', async () => {
      const files = await readFile(hello);
      const [from, to] = [
        'CREATE OR REPLACE TABLE greeting AS SELECT',
        'CREATE TABLE IF NOT EXISTS greetings (text VARCHAR); INSERT INTO greetings SELECT',
      ];
      const talk = await talkAbout(
        'Make it incremental',
        {},
        { calls: [edit(files, hello, from, to), commit] },
      );
      const { branchName } = await talk.changes();
      await mergeAndPublish(talk);
      for (const _ of [1, 2]) await runOf(hosted.project, 'hello');
      files[hello] = await hosted.read(hello);
      await talk.say('Greet Bergen from now on', {
        calls: [edit(files, hello, 'Hello, Oslo', 'Hello, Bergen'), commit],
      });
      assert.equal((await talk.changes()).branchName, `${branchName}-2`);
      await mergeAndPublish(talk);
      await runOf(hosted.project, 'hello');
      const rows = await read(
        hosted.project,
        'select text, count(*) from greetings group by text order by text',
      );
      assert.deepEqual(rows, [
        ['Hello, Bergen', 1],
        ['Hello, Oslo', 2],
      ]);
    });
  });
});
