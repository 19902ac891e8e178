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
import { secretOperations } from './secret/secret.ts';
import { secretCheckOperations } from './secret-reference/secret-check.ts';
import { secretReferenceOperations } from './secret-reference/secret-reference.ts';
import { sharedPipelineOperations } from './shared-pipeline/shared-pipeline.ts';
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
export * from './agent-protocol/secret-lookup.ts';
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
export * from './secret/secret.ts';
export * from './secret/secret-value.ts';
export * from './secret-reference/secret-check.ts';
export * from './secret-reference/secret-reference.ts';
export * from './shared-pipeline/shared-pipeline.ts';
export * from './variable/override.ts';
export * from './variable/variable.ts';
export * from './variable/variable-value.ts';

export const operations: readonly Operation[] = [
  ...projectOperations,
  ...environmentOperations,
  ...variableOperations,
  ...overrideOperations,
  ...connectionOperations,
  ...dataPlatformConnectionOperations,
  ...secretReferenceOperations,
  ...secretCheckOperations,
  ...artifactUploadOperations,
  ...artifactOperations,
  ...sharedPipelineOperations,
  ...agentOperations,
  ...agentAllowlistOperations,
  ...secretOperations,
  ...pipelineExecutionOperations,
  ...credentialOperations,
  ...accountEventOperations,
  ...agentProtocolOperations,
];
