/** The tools that a task may use, and the question to a person, which is no tool of the platform. */
import type { AiAgentConfig } from '@headgate/contract';
import { type Static, Type } from 'typebox';
import { findStructureFault } from '../../../kernel/http/json-body.ts';
import { bodySchemas, compileOnUse } from '../../../kernel/http/schemas.ts';
import type { Tool, ToolInput } from '../../ai-tools/index.ts';

export const askUser = 'ask_user';

const questionSchema = Type.Object(
  {
    questions: Type.Array(
      Type.Object(
        {
          question: Type.String({ minLength: 1, maxLength: 2_000 }),
          options: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), { minItems: 1, maxItems: 10 }),
          multiple: Type.Optional(Type.Boolean({ description: 'Several options may be chosen' })),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 5 },
    ),
  },
  { additionalProperties: false },
);
export type Questions = Static<typeof questionSchema>;

/** It never runs: a person answers it by a decision. */
const questionTool: Tool = {
  name: askUser,
  description: 'Ask the person a question with options, and wait for the answer.',
  inputSchema: questionSchema,
  changes: false,
  ask(_, input) {
    const { questions } = input as Questions;
    const lines = questions.map(
      ({ question, options }, index) =>
        `${index}. ${question}\n${options.map((option) => `- ${option}`).join('\n')}`,
    );
    return { title: 'Answer a question', body: lines.join('\n\n') };
  },
  run: () => Promise.reject(new Error(`${askUser} is answered by a person.`)),
};

export interface Tools {
  find(name: string): Tool | undefined;
  /** Those of a mode: PLAN has none that changes something. */
  list(mode: 'ACT' | 'PLAN'): readonly Tool[];
  /** What is wrong with the input, in words for the model; undefined for a valid one. */
  findFault(tool: Tool, input: unknown): string | undefined;
}

export function createTools(platform: readonly Tool[]): Tools {
  const all = [...platform, questionTool];
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  if (byName.size !== all.length) throw new Error('Two tools have the same name.');
  const checks = new Map(all.map((tool) => [tool.name, compileOnUse(bodySchemas, tool.inputSchema)]));
  return {
    find: (name) => byName.get(name),
    list: (mode) => (mode === 'ACT' ? all : all.filter(({ changes }) => !changes)),
    findFault(tool, input) {
      const validate = checks.get(tool.name)?.();
      if (validate === undefined || validate(input)) return undefined;
      return bodySchemas.errorsText(validate.errors, { dataVar: 'input' });
    },
  };
}

/**
 * Member of a result: where its rows come from. Results without rows have it too, so that the right people see them.
 */
export function nameWarehouse(
  tools: Tools,
  toolName: string,
  { environmentName }: Pick<AiAgentConfig, 'environmentName'>,
): { environmentName?: string } {
  const hasRows = tools.find(toolName)?.returnsRows === true && environmentName !== undefined;
  return hasRows ? { environmentName } : {};
}

/** The input as an object. The model may leave out an empty one. One that is nested too deeply is no input. */
export function parseInput(text: string): ToolInput | undefined {
  try {
    const parsed: unknown = text.trim() === '' ? {} : JSON.parse(text);
    if (findStructureFault(text) !== undefined) return undefined;
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as ToolInput)
      : undefined;
  } catch {
    return undefined;
  }
}
