/** The operations and schemas of every resource. The operations are in the order of the OpenAPI document. */

import { accountEventOperations } from './account-event/account-event.ts';
import { agentOperations } from './agent/agent.ts';
import { agentAllowlistOperations } from './agent/agent-allowlist.ts';
import { agentProtocolOperations } from './agent-protocol/agent-protocol.ts';
import { artifactOperations } from './artifact/artifact.ts';
import { artifactUploadOperations } from './artifact/artifact-upload.ts';
import { connectionOperations } from './connection/connection.ts';
import { dataPlatformConnectionOperations } from './connection/data-platform-connection.ts';
import { credentialOperations } from './credential/credential.ts';
import { environmentOperations } from './environment/environment.ts';
import type { Operation } from './operation.ts';
import { pipelineExecutionOperations } from './pipeline-execution/pipeline-execution.ts';
import { projectOperations } from './project/project.ts';
import { projectTagOperations } from './project-tag/project-tag.ts';
import { secretOperations } from './secret/secret.ts';
import { secretCheckOperations } from './secret-reference/secret-check.ts';
import { secretReferenceOperations } from './secret-reference/secret-reference.ts';
import { sharedPipelineOperations } from './shared-pipeline/shared-pipeline.ts';
import { testExecutionOperations } from './test-execution/test-execution.ts';
import { overrideOperations } from './variable/override.ts';
import { variableOperations } from './variable/variable.ts';

export * from './account-event/account-event.ts';
export * from './agent/agent.ts';
export * from './agent/agent-allowlist.ts';
export * from './agent-protocol/agent-protocol.ts';
export * from './agent-protocol/artifact-manifest.ts';
export * from './agent-protocol/claim.ts';
export * from './agent-protocol/instance-certificate.ts';
export * from './agent-protocol/presence.ts';
export * from './agent-protocol/report.ts';
export * from './agent-protocol/run-members.ts';
export * from './agent-protocol/secret-lookup.ts';
export * from './agent-protocol/test-execution-work.ts';
export * from './agent-protocol/work.ts';
export * from './artifact/artifact.ts';
export * from './artifact/artifact-upload.ts';
export * from './artifact/asset-path.ts';
export * from './connection/connection.ts';
export * from './connection/data-platform-connection.ts';
export * from './credential/credential.ts';
export * from './environment/environment.ts';
export * from './environment/environment-connection.ts';
export * from './pipeline-execution/pipeline-execution.ts';
export * from './project/project.ts';
export * from './project-tag/project-tag.ts';
export * from './secret/secret.ts';
export * from './secret/secret-value.ts';
export * from './secret-reference/secret-check.ts';
export * from './secret-reference/secret-reference.ts';
export * from './shared-pipeline/shared-pipeline.ts';
export * from './test-execution/test-execution.ts';
export * from './variable/override.ts';
export * from './variable/variable.ts';
export * from './variable/variable-value.ts';

/** The operations under one heading of the document. */
export interface OperationGroup {
  tag: string;
  /** What the resource is, for readers of the document. */
  about: string;
  operations: readonly Operation[];
}

export const operationGroups: readonly OperationGroup[] = [
  {
    tag: 'Projects',
    about: 'A project holds environments, variables, connections, secret references and artifacts.',
    operations: projectOperations,
  },
  {
    tag: 'Environments',
    about: 'An environment is a place where the pipelines of a project run, such as dev or prod.',
    operations: environmentOperations,
  },
  {
    tag: 'Variables',
    about: 'Variables of a project, and the values that override them in an environment.',
    operations: [...variableOperations, ...overrideOperations],
  },
  {
    tag: 'Connections',
    about:
      'Connections of a project to data warehouses and other systems, and their overrides in an environment.',
    operations: [...connectionOperations, ...dataPlatformConnectionOperations],
  },
  {
    tag: 'Secret references',
    about:
      'A secret reference names a secret in a vault of the customer. Headgate does not store the secret.',
    operations: [...secretReferenceOperations, ...secretCheckOperations],
  },
  {
    tag: 'Artifacts',
    about:
      'An artifact is an immutable version of the pipeline files of a project, published to an environment.',
    operations: [...artifactUploadOperations, ...artifactOperations],
  },
  {
    tag: 'Shared pipelines',
    about: 'Versioned groups of pipelines that every project of the account can run.',
    operations: sharedPipelineOperations,
  },
  {
    tag: 'Agents',
    about: 'An agent is a program that runs pipelines beside the data. It connects to the server.',
    operations: [...agentOperations, ...agentAllowlistOperations],
  },
  {
    tag: 'Secrets',
    about: 'Write secrets into the vaults of an agent. The server does not store them.',
    operations: secretOperations,
  },
  {
    tag: 'Pipeline executions',
    about: 'Start and cancel pipelines, and read their status and steps.',
    operations: pipelineExecutionOperations,
  },
  {
    tag: 'Test executions',
    about: 'Run the tests of pipelines without changing the data of the environment, and read their results.',
    operations: testExecutionOperations,
  },
  {
    tag: 'Credentials',
    about: 'API credentials of the account, and their roles.',
    operations: credentialOperations,
  },
  {
    tag: 'Events',
    about: 'The audit log of the account.',
    operations: accountEventOperations,
  },
  {
    tag: 'Agent protocol',
    about: 'What agents and servers send to each other.',
    operations: agentProtocolOperations,
  },
  {
    tag: 'Project tags',
    about: 'A tag is a name and a value that a project carries, such as its cost center.',
    operations: projectTagOperations,
  },
];

export const operations: readonly Operation[] = operationGroups.flatMap((group) => group.operations);
