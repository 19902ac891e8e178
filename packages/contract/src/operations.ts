/** All operations, in the order in which the OpenAPI document shows them. */
import { listEvents } from './account-event.ts';
import { listAgents } from './agent.ts';
import {
  agentArtifact,
  agentBlob,
  agentClaim,
  agentHeartbeat,
  agentHello,
  agentReport,
} from './agent-protocol.ts';
import { createArtifact, getArtifact, listArtifacts } from './artifact.ts';
import {
  createConnection,
  createDataPlatformConnection,
  deleteConnection,
  deleteConnectionOverrides,
  listConnectionOverrides,
  listConnections,
  listDataPlatformConnections,
  updateConnection,
  writeConnectionOverride,
} from './connection.ts';
import { createCredential, deleteCredential, listCredentials, rotateCredential } from './credential.ts';
import {
  createEnvironment,
  deleteEnvironment,
  getEnvironment,
  listEnvironments,
  updateEnvironment,
} from './environment.ts';
import type { Operation } from './operation.ts';
import {
  cancelPipelineExecution,
  getPipelineExecution,
  getPipelineExecutionStatus,
  listPipelineExecutionSteps,
  listPipelineExecutions,
  startPipelineExecution,
} from './pipeline-execution.ts';
import { createProject, deleteProject, getProject, listProjects, updateProject } from './project.ts';
import {
  createSharedPipelines,
  getSharedArtifact,
  listSharedArtifacts,
  listSharedPipelines,
  updateSharedArtifact,
} from './shared-pipeline.ts';
import {
  createVariable,
  deleteOverride,
  deleteVariable,
  getOverrides,
  getVariable,
  listVariables,
  updateVariable,
  writeOverrides,
} from './variable.ts';

export const operations: readonly Operation[] = [
  listProjects,
  createProject,
  getProject,
  updateProject,
  deleteProject,
  listEnvironments,
  createEnvironment,
  getEnvironment,
  updateEnvironment,
  deleteEnvironment,
  listVariables,
  createVariable,
  getVariable,
  updateVariable,
  deleteVariable,
  getOverrides,
  writeOverrides,
  deleteOverride,
  listConnections,
  createConnection,
  updateConnection,
  deleteConnection,
  listConnectionOverrides,
  writeConnectionOverride,
  deleteConnectionOverrides,
  listDataPlatformConnections,
  createDataPlatformConnection,
  createArtifact,
  listArtifacts,
  getArtifact,
  listSharedPipelines,
  createSharedPipelines,
  listSharedArtifacts,
  getSharedArtifact,
  updateSharedArtifact,
  listAgents,
  startPipelineExecution,
  listPipelineExecutions,
  getPipelineExecution,
  getPipelineExecutionStatus,
  listPipelineExecutionSteps,
  cancelPipelineExecution,
  listCredentials,
  createCredential,
  rotateCredential,
  deleteCredential,
  listEvents,
  agentHello,
  agentClaim,
  agentHeartbeat,
  agentReport,
  agentArtifact,
  agentBlob,
];
