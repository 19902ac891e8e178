/** A server without a model: the rule-based assistant. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listKinds, listMessages, startAiScene } from '../../../../testing/ai-task-scene.ts';
import { smallPipeline, upload } from '../../../../testing/project.ts';
import type { ModelAnswer, ModelMessage, ModelRequest } from './model.ts';
import { ruleBasedModel } from './rule-based.ts';

const scene = await startAiScene({ hasModel: false });

test('the pipelines are listed, and the answer is the last message of a stopped task', async () => {
  const path = await scene.create('List the pipelines, please.');
  const task = await scene.settled(path);
  assert.equal(task.status, 'STOPPED');
  assert.equal(task.assistant, 'rule-based assistant');
  const messages = await listMessages(scene.admin, path);
  assert.deepEqual(listKinds(messages), ['user', 'tool-call', 'tool-result', 'assistant']);
  const last = messages.at(-1);
  assert.ok(last?.type === 'assistant');
  assert.match(last.text, /^I am the rule-based assistant.*daily\/load\.orch\.yaml/s);
});

test('another instruction is answered with what the assistant understands', async () => {
  const path = await scene.create('Write a poem.');
  assert.equal((await scene.settled(path)).status, 'STOPPED');
  const last = (await listMessages(scene.admin, path)).at(-1);
  assert.ok(last?.type === 'assistant');
  assert.match(last.text, /I understand these instructions:\n- list the pipelines/);
  assert.equal(scene.model.requests.length, 0);
});

test('with the tools of the platform: a list, an explanation, findings, a run that waits for a decision', async () => {
  const real = await startAiScene({ hasModel: false, hasPlatformTools: true });
  await upload(real.admin, real.project, [{ name: 'daily/load.orch.yaml', content: smallPipeline }]);
  const ask = async (message: string) => {
    const path = await real.create(message, { config: { environmentName: 'dev' } });
    const task = await real.settled(path);
    const last = (await listMessages(real.admin, path)).at(-1);
    return { task, text: last?.type === 'assistant' ? last.text : '' };
  };
  assert.match((await ask('List the pipelines')).text, /daily\/load\.orch\.yaml: orchestration/);
  assert.match((await ask('Explain load')).text, /Its file:\ntype: "orchestration"/);
  assert.match((await ask('Validate load')).text, /No findings/);
  assert.match((await ask('Why did load fail?')).text, /I find no failed run of load/);
  const { task } = await ask('Run daily/load');
  assert.deepEqual(
    task.pendingDecisions.map(({ toolName, toolInput }) => [toolName, toolInput]),
    [['run_pipeline', { pipelineName: 'daily/load' }]],
  );
});

const toolNames = [
  'list_pipelines',
  'read_file',
  'validate_pipeline',
  'run_pipeline',
  'list_runs',
  'read_steps',
];
const tools = toolNames.map((name) => ({ ...(scene.tools.list[0] as ModelRequest['tools'][number]), name }));

/** Plays the tools: each call gets the next text. Returns the calls and the answer. */
async function play(instruction: string, texts: readonly string[], inputs = tools): Promise<string[]> {
  const conversation: ModelMessage[] = [{ role: 'user', text: instruction }];
  const seen: string[] = [];
  for (const text of [...texts, '']) {
    const signal = new AbortController().signal;
    const request = {
      instructions: '',
      conversation,
      tools: inputs,
      maxOutputTokens: 1,
      signal,
      onBegin: () => undefined,
      onUsage: () => undefined,
      onText: () => undefined,
    };
    const answer: ModelAnswer = await ruleBasedModel.ask(request);
    const [query] = answer.calls;
    if (query === undefined)
      return [
        ...seen,
        answer.text.replace(/^I am the rule-based assistant: this server has no model\. /, ''),
      ];
    seen.push(`${query.toolName} ${query.input}`);
    conversation.push({
      role: 'results',
      results: [{ id: '1', toolName: query.toolName, text, isData: true }],
    });
  }
  return seen;
}

const list = 'daily/load.orch.yaml: orchestration\nclean.tran.yaml: transformation; cleans';
const runId = '0198c2f4-5d1e-7c3a-9b42-6f0e8d7c1a23';

test('the five instructions, as people write them', async () => {
  assert.deepEqual(await play('Show me which pipelines there are', [list]), [
    'list_pipelines {}',
    `These are the pipelines:\n${list}`,
  ]);
  assert.deepEqual(await play('Explain the pipeline "load".', [list, 'type: x']), [
    'list_pipelines {}',
    'read_file {"path":"daily/load.orch.yaml"}',
    'daily/load.orch.yaml: orchestration\nIts file:\ntype: x',
  ]);
  assert.deepEqual(await play('explain nothing', [list]), [
    'list_pipelines {}',
    `There is no pipeline nothing. The pipelines are:\n${list}`,
  ]);
  assert.deepEqual(await play('Please validate clean.tran.yaml', [list, 'No findings.']), [
    'list_pipelines {}',
    'validate_pipeline {"path":"clean.tran.yaml"}',
    'clean.tran.yaml: No findings.',
  ]);
  assert.deepEqual(await play('validate all pipelines', ['No findings.']), [
    'validate_pipeline {}',
    'No findings.',
  ]);
  assert.deepEqual(await play('Run daily/load!', ['It is SUCCESS.']), [
    'run_pipeline {"pipelineName":"daily/load"}',
    'It is SUCCESS.',
  ]);
  assert.deepEqual(
    await play('Why did daily/load fail?', [`${runId} daily/load FAILED\nmore`, 'Load: FAILED: no table']),
    [
      'list_runs {"onlyFailed":true,"pipelineName":"daily/load"}',
      `read_steps {"pipelineExecutionId":"${runId}"}`,
      `The last failed run is:\n${runId} daily/load FAILED\nIts steps:\nLoad: FAILED: no table`,
    ],
  );
  for (const words of [
    'why failed? does "daily/load" go wrong',
    'tell me why\ndid the daily/load pipeline  fail',
  ])
    assert.deepEqual(
      (await play(words, ['There are no such runs.']))[0],
      'list_runs {"onlyFailed":true,"pipelineName":"daily/load"}',
    );
  assert.deepEqual(await play('why did last night fail', ['There are no such runs.']), [
    'list_runs {"onlyFailed":true}',
    'I find no failed run. There are no such runs.',
  ]);
});

test('in the mode PLAN the assistant says that nothing is run, and what to send', async () => {
  const reading = tools.filter(({ name }) => name !== 'run_pipeline');
  assert.deepEqual(await play('Run daily/load!', [], reading), [
    'The mode of this task is PLAN, so run_pipeline cannot be used. Send the message with an agentConfig that has the mode ACT.',
  ]);
});
