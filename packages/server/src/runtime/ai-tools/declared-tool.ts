/** Makes a tool from what it declares: its input, its masking, and what its failures mean. */
import { type Static, type TObject, type TProperties, Type } from 'typebox';
import type { PipelineReader, UploadLimits } from '../../delivery/artifacts/index.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { CopyServices } from './copy-services.ts';
import { hideSecrets } from './masking.ts';
import type { Platform } from './tool/platform.ts';
import type { Question, Tool, ToolContext, ToolInput, ToolResult } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';

export interface ToolServices extends CopyServices {
  platform: Platform;
  readPipeline: PipelineReader;
  clock: Clock;
  config: { upload: UploadLimits };
}

interface Declared<Input extends TObject> {
  name: string;
  description: string;
  input: Input;
  /** What a person is asked. Only for a tool that changes something. */
  asks?(input: Static<Input>, context: ToolContext): Question | Promise<Question>;
  inEnvironment?: true;
  returnsRows?: true;
  /** It masks its texts itself, by marks that can be written back to a file. */
  masksItself?: true;
  /** @returns the text of a call that was done. @throws ToolFault, Problem */
  run(context: ToolContext, input: Static<Input>): Promise<string>;
}

/** Characters of one result. */
const resultLimit = 60_000;

/** A tool without `asks` only reads. */
export function declareTool<Input extends TObject>({ input, asks, ...declared }: Declared<Input>): Tool {
  const { name, description } = declared;
  const isChanging = asks !== undefined;
  return {
    name,
    description,
    inputSchema: input,
    changes: isChanging,
    inEnvironment: declared.inEnvironment,
    returnsRows: declared.returnsRows,
    ask: (context, source) => asks?.(source as Static<Input>, context) ?? { title: description, body: '' },
    async run(context, source: ToolInput): Promise<ToolResult> {
      if (isChanging && context.task.mode === 'PLAN')
        return { outcome: 'FAILED', text: `The task is in the mode PLAN, and ${name} changes something.` };
      try {
        const text = await declared.run(context, source as Static<Input>);
        return { outcome: 'DONE', text: limitText(declared.masksItself ? text : hideSecrets(text)) };
      } catch (failure) {
        if (!isAnswer(failure)) throw failure;
        return { outcome: 'FAILED', text: limitText(hideSecrets(failure.message)) };
      }
    },
  };
}

/** Whether the model can do something about it. */
function isAnswer(failure: unknown): failure is Error {
  return failure instanceof ToolFault || (failure instanceof Problem && failure.status < 500);
}

function limitText(text: string): string {
  if (text.length <= resultLimit) return text;
  return `${text.slice(0, resultLimit).toWellFormed()}\n[cut: ${text.length - resultLimit} more characters]`;
}

export const object = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

export const PathInput = Type.String({
  minLength: 1,
  maxLength: 1_024,
  description: 'From the root of the project, such as jobs/load.orch.yaml',
});

/** @throws ToolFault */
export function requireEnvironment({ task }: ToolContext): string {
  if (task.environmentName === undefined)
    throw new ToolFault('the task has no environmentName: start a task that has one');
  return task.environmentName;
}

/** A name or a text of a tenant in a sentence. */
export const quote = (text: string) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
