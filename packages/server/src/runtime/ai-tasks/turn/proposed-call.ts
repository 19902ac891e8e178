/** Calls as a model wrote them: which may become calls of tools, and what the model learns about the others. */
import type { AiAgentConfig, AiMessageData } from '@headgate/contract';
import type { NewId } from '../../../kernel/identifiers.ts';
import type { ModelCall } from '../model/model.ts';
import { nameWarehouse, parseInput, type Tools } from '../model/tool-set.ts';
import { digestText, digestTool } from '../store/grant.ts';
import { encodeJson, toStoredText } from '../store/stored-text.ts';
import type { NewCall, NewTurn } from '../store/turn.store.ts';

const mostCalls = 20;
/** Calls beyond the limit whose refusal the model reads; those after them are left out of the messages. */
const mostRefusedCalls = 20;
const mostInputLength = 100_000;

/** The calls of an answer, without those that are far beyond the limit. */
export function judgeAll(calls: readonly ModelCall[], place: CallPlace): ProposedCall[] {
  return calls.slice(0, mostCalls + mostRefusedCalls).map((call, index) => judgeProposed(call, index, place));
}

/** Of the calls of one answer. */
interface CallPlace {
  tools: Tools;
  config: AiAgentConfig;
  turn: NewTurn;
  newId: NewId;
  now: Date;
}

export interface ProposedCall {
  row: NewCall;
  messages: AiMessageData[];
}

/** A call as the model wrote it. One that cannot run ends at once, and the model learns why. */
function judgeProposed(request: ModelCall, index: number, place: CallPlace): ProposedCall {
  const { tools, config, turn, now } = place;
  const toolId = place.newId();
  const toolName = toStoredText(request.toolName, 100);
  const input = parseInput(request.input);
  const fault = findFault(tools, config, request, index);
  const tool = tools.find(request.toolName);
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
    ...nameWarehouse(tools, toolName, config),
  } as AiMessageData;
  return { row, messages: [call, result] };
}

function findFault(tools: Tools, { mode = 'ACT' }: AiAgentConfig, request: ModelCall, index: number) {
  if (index >= mostCalls) return `An answer may have ${mostCalls} calls. Make this one in your next answer.`;
  const tool = tools.find(request.toolName);
  if (tool === undefined) {
    const names = tools.list(mode).map(({ name }) => name);
    return `There is no tool ${JSON.stringify(request.toolName.slice(0, 100))}. The tools are ${names.join(', ')}.`;
  }
  if (request.input.length > mostInputLength)
    return `The input has ${request.input.length} characters; ${mostInputLength} is the limit.`;
  const input = parseInput(request.input);
  if (input === undefined)
    return 'The input is not a JSON object, or is nested too deeply. Send one that fits the schema of the tool.';
  if (encodeJson(input) !== JSON.stringify(input))
    return 'The input holds characters that cannot be stored, such as NUL.';
  const fault = tools.findFault(tool, input);
  return fault === undefined ? undefined : `The input does not fit the schema of ${tool.name}: ${fault}.`;
}
