/** What an AI task is given: its configuration and permissions, and what it asks for. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { DateTime, EnvironmentName, mapOf, oneOf, ProjectId, Uuid } from '../primitives.ts';

export const aiTaskModes = ['ACT', 'PLAN'] as const;
export type AiTaskMode = (typeof aiTaskModes)[number];

/** The agent with the instructions of a data engineer. Another name gets the general ones. */
export const dataEngineerAgent = 'data_engineer_agent';
const grantLimit = 100;
export const toolNameLimit = 100;
export const branchLimit = 255;

const BranchName = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: branchLimit, description }));

export const AiAgentConfig = named(
  'AiAgentConfig',
  Type.Object({
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      description: `\`${dataEngineerAgent}\` knows pipelines and SQL. Another name gets general instructions`,
    }),
    projectId: ProjectId,
    environmentName: Type.Optional(EnvironmentName),
    mode: Type.Optional(
      oneOf(aiTaskModes, {
        description:
          'ACT, the default: the task may make changes. PLAN: no tool that changes something is ever run',
      }),
    ),
    sourceBranchName: BranchName('The branch that the task reads. Default: the default branch'),
    targetBranchName: BranchName('The branch for the changes. It is made if it does not exist'),
    generateBranch: Type.Optional(
      Type.Boolean({
        description:
          'Make a new branch for the changes, with a name that is free. Default: true without `targetBranchName`. With false and no `targetBranchName`, commits go to the source branch itself',
      }),
    ),
    workingDirectory: Type.Optional(
      Type.String({
        maxLength: 1_024,
        pattern: '^(?!/)(?!\\.\\.$)(?!\\.\\./)(?!.*/\\.\\.$)(?!.*/\\.\\./)[^\\\\\\u0000-\\u001f\\u007f]*$',
        'x-form': 'a folder of the project such as loads/daily, without .., backslashes and a leading /',
        description: 'The task sees and changes only files of this folder',
      }),
    ),
    graphId: Type.Optional(
      Type.String({ maxLength: 255, description: 'Kept and returned; it has no other meaning here' }),
    ),
  }),
);
export type AiAgentConfig = Static<typeof AiAgentConfig>;

export const AiGrantedPermission = named(
  'AiGrantedPermission',
  Type.Object({
    toolName: Type.String({
      minLength: 1,
      maxLength: toolNameLimit,
      description: 'The tool that runs without a decision',
    }),
    arguments: Type.Optional(
      mapOf(Type.Union([Type.String({ maxLength: 1_024 }), Type.Number(), Type.Boolean()]), {
        maxProperties: 20,
        description: 'Only calls whose arguments have these values',
      }),
    ),
    environmentName: Type.Optional(EnvironmentName),
    uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: 'How many calls' })),
    expiresAt: Type.Optional(DateTime),
  }),
);
export type AiGrantedPermission = Static<typeof AiGrantedPermission>;
export const GrantedPermissions = Type.Array(AiGrantedPermission, {
  maxItems: grantLimit,
  uniqueItems: true,
  description: 'Tools that run without asking. Every other tool that changes something waits for a decision',
});

export const ToolInput = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  maxProperties: 100,
  additionalProperties: true,
  description: 'The exact input of the call',
});
export const AiPendingDecision = named(
  'AiPendingDecision',
  Type.Object({
    type: oneOf(['tool']),
    toolId: Uuid,
    toolName: Type.String({ maxLength: toolNameLimit }),
    toolInput: ToolInput,
    permissionMessage: Type.Object({
      title: Type.String({ maxLength: 1_000 }),
      body: Type.String({ maxLength: 20_000 }),
    }),
    expiresAt: Type.Optional(DateTime),
  }),
);
export type AiPendingDecision = Static<typeof AiPendingDecision>;
/** Calls of one turn that can wait. */
export const pendingDecisionLimit = 100;
export const PendingDecisions = Type.Array(AiPendingDecision, { maxItems: pendingDecisionLimit });
