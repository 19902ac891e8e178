/** Calls as a model wrote them: which may become calls of tools, and what the model learns about the others. */
import type { AiMessageData } from '@headgate/contract';
import type { AskedCall } from '../model/model.ts';
import { nameWarehouse, parseInput } from '../model/tool-set.ts';
import { digestText, digestTool } from '../store/grant.ts';
import { encodeJson, toStoredText } from '../store/stored-text.ts';
import type { Step } from '../store/task-run.ts';
import type { NewCall, NewTurn } from '../store/turn.store.ts';

const mostCalls = 20;
/** Calls beyond the limit whose refusal the model reads; those after them are left out of the messages. */
const mostRefusedCalls = 20;
const mostInputLength = 100_000;

/** The calls of an answer, without those that are far beyond the limit. */
export function judgeAll(step: Step, turn: NewTurn, calls: readonly AskedCall[], now: Date): Proposed[] {
  return calls
    .slice(0, mostCalls + mostRefusedCalls)
    .map((call, index) => judgeProposed(step, turn, call, index, now));
}

export interface Proposed {
  row: NewCall;
  messages: AiMessageData[];
}

/** A call as the model wrote it. One that cannot run ends at once, and the model learns why. */
function judgeProposed(step: Step, turn: NewTurn, request: AskedCall, index: number, now: Date): Proposed {
  const { services } = step;
  const toolId = services.newId();
  const toolName = toStoredText(request.toolName, 100);
  const input = parseInput(request.input);
  const fault = findFault(step, request, index);
  const tool = services.tools.find(request.toolName);
  // From what was parsed, so that what people see is what runs.
  const written = JSON.stringify(fault === undefined ? input : {});
  const row: NewCall = {
    call_id: toolId,
    turn: turn.turn,
    number: index,
    group_id: turn.groupId,
    tool_name: toolName,
    input: written,
    input_digest: digestText(written),
    schema_digest: tool === undefined ? null : digestTool(tool),
    status: fault === undefined ? 'PROPOSED' : 'ENDED',
    outcome: fault === undefined ? null : 'FAILED',
    ...turn.sender,
    ended_at: fault === undefined ? null : now,
  };
  const call: AiMessageData = {
    type: 'tool-call',
    toolId,
    toolName,
    toolInput: { ...(fault === undefined ? input : {}) },
  };
  if (fault === undefined) return { row, messages: [call] };
  const result: AiMessageData = {
    ...{ type: 'tool-result', toolId, toolName, outcome: 'FAILED' },
    text: toStoredText(fault, 2_000),
    ...nameWarehouse(services.tools, toolName, step.task.agent_config),
  } as AiMessageData;
  return { row, messages: [call, result] };
}

function findFault({ services, task }: Step, request: AskedCall, index: number): string | undefined {
  if (index >= mostCalls) return `An answer may have ${mostCalls} calls. Make this one in your next answer.`;
  const tool = services.tools.find(request.toolName);
  if (tool === undefined) {
    const names = services.tools.list(task.agent_config.mode ?? 'ACT').map(({ name }) => name);
    return `There is no tool ${JSON.stringify(request.toolName.slice(0, 100))}. The tools are ${names.join(', ')}.`;
  }
  if (request.input.length > mostInputLength)
    return `The input has ${request.input.length} characters; ${mostInputLength} is the limit.`;
  const input = parseInput(request.input);
  if (input === undefined)
    return 'The input is not a JSON object, or is nested too deeply. Send one that fits the schema of the tool.';
  if (encodeJson(input) !== JSON.stringify(input))
    return 'The input holds characters that cannot be stored, such as NUL.';
  const fault = services.tools.findFault(tool, input);
  return fault === undefined ? undefined : `The input does not fit the schema of ${tool.name}: ${fault}.`;
}
