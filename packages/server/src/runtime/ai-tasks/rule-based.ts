/**
 * The assistant of a server without a model. It follows rules, says so, and understands five instructions. It uses
 * the same tools as a model, with the same rights and decisions.
 */
import type { Tool } from '../ai-tools/tool.ts';
import type { Ask, AskedCall, Model, ModelAnswer, Said } from './model.ts';

const introduction = 'I am the rule-based assistant: this server has no model.';
const abilities = `${introduction} I understand these instructions:
- list the pipelines
- explain NAME
- validate NAME, or: validate all
- run NAME
- why did NAME fail`;

type Results = Extract<Said, { role: 'results' }>['results'];

interface Rule {
  form: RegExp;
  toolName: string;
  /** What the instruction gives: the name of a pipeline, or nothing. */
  needsName: boolean;
  answer: (results: Results, name: string) => string;
}

const show = (results: Results) => results.map(({ text }) => text).join('\n');

/** Tried in this order: `why did … fail` also has other verbs in it. */
const rules: readonly Rule[] = [
  {
    form: /\bwhy\b(?:.*?\bdid\b)?\s*(.*?)\s*\b(?:fail(?:ed|s)?|go wrong)\b/i,
    toolName: 'read_steps',
    needsName: false,
    answer: (results, name) =>
      `These are the steps of the last run${name === '' ? '' : ` of ${name}`}:\n${show(results)}`,
  },
  {
    form: /\b(?:list|show|which)\b.*\b(?:pipelines?|files?)\b/i,
    toolName: 'list_pipelines',
    needsName: false,
    answer: (results) => `These are the pipelines:\n${show(results)}`,
  },
  {
    form: /\b(?:explain|describe)\s+(\S.*)/i,
    toolName: 'read_file',
    needsName: true,
    answer: (results, name) => `${name} is:\n${show(results)}`,
  },
  {
    form: /\b(?:validate|check)\b\s*(.*)/i,
    toolName: 'validate_pipeline',
    needsName: false,
    answer: (results, name) => `The findings${name === '' ? '' : ` about ${name}`}:\n${show(results)}`,
  },
  {
    form: /\b(?:run|start|execute)\s+(\S.*)/i,
    toolName: 'run_pipeline',
    needsName: true,
    answer: (results, name) => `The run of ${name}:\n${show(results)}`,
  },
];

export const ruleBasedModel: Model = {
  async ask(request) {
    const answer = follow(request);
    if (answer.text !== '') request.onText(answer.text);
    return answer;
  },
};

function follow({ conversation, tools }: Ask): ModelAnswer {
  const last = conversation.at(-1);
  const instruction = conversation.findLast((each) => each.role === 'user')?.text ?? '';
  const found = findRule(instruction);
  if (found === undefined) return say(abilities);
  const { rule, name } = found;
  if (last?.role === 'results') return say(`${introduction} ${rule.answer(last.results, name)}`);
  const tool = tools.find((each) => each.name === rule.toolName);
  if (tool === undefined)
    return say(`${introduction} I cannot do that here: this task has no tool ${rule.toolName}.`);
  const input = fillInput(tool, name);
  if (input === undefined) return say(`${introduction} Name the pipeline, such as: ${nameExample(rule)}.`);
  const call: AskedCall = { id: rule.toolName, toolName: tool.name, input: JSON.stringify(input) };
  return { ...say(''), calls: [call] };
}

function nameExample({ toolName }: Rule): string {
  return toolName === 'run_pipeline' ? 'run daily-load' : 'explain daily-load';
}

function findRule(instruction: string): { rule: Rule; name: string } | undefined {
  for (const rule of rules) {
    const match = rule.form.exec(instruction);
    if (match !== null) return { rule, name: cleanName(match[1] ?? '') };
  }
  return undefined;
}

/** `the pipeline "daily load".` → `daily load` */
function cleanName(text: string): string {
  const bare = text
    .replace(/[.!?\s]+$/, '')
    .replace(/^(?:(?:the|my|pipeline|file|last|night's|run|of|all|every|everything|pipelines)\b\s*)+/i, '')
    .replace(/\s+pipelines?$/i, '');
  return bare.replace(/^["'`](.*)["'`]$/, '$1').trim();
}

/** The members of inputs that take the name of a pipeline, the first that the tool has. */
const nameMembers = ['pipelineName', 'path', 'name', 'pipeline'];

/** Undefined: the tool needs a name, and the instruction gives none. */
function fillInput({ inputSchema }: Tool, name: string): Record<string, string> | undefined {
  const { properties = {}, required = [] } = inputSchema as {
    properties?: Record<string, unknown>;
    required?: readonly string[];
  };
  const member = nameMembers.find((each) => each in properties);
  if (name !== '') return member === undefined ? {} : { [member]: name };
  return required.length > 0 ? undefined : {};
}

function say(text: string): ModelAnswer {
  return { text, calls: [], inputTokens: undefined, outputTokens: undefined, end: 'complete' };
}
