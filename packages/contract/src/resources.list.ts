// Written by `npm run generate` from the folders of the resources. Do not edit it.
import { accessOperations } from './access/access.ts';
import { accessReviewOperations } from './access/access-review.ts';
import { accountEventOperations } from './account-event/account-event.ts';
import { agentProtocolOperations } from './agent-protocol/agent-protocol.ts';
import { agentOperations } from './agent/agent.ts';
import { agentAllowlistOperations } from './agent/agent-allowlist.ts';
import { aiTaskChangesOperations } from './ai-task-changes/ai-task-changes.ts';
import { aiTaskOperations } from './ai-task/ai-task.ts';
import { aiTaskMessageOperations } from './ai-task/ai-task-message.ts';
import { alertRuleOperations } from './alert-rule/alert-rule.ts';
import { artifactOperations } from './artifact/artifact.ts';
import { artifactUploadOperations } from './artifact/artifact-upload.ts';
import { backfillOperations } from './backfill/backfill.ts';
import { budgetOperations } from './budget/budget.ts';
import { connectionOperations } from './connection/connection.ts';
import { connectionTestOperations } from './connection/connection-test.ts';
import { dataPlatformConnectionOperations } from './connection/data-platform-connection.ts';
import { connectorOauthOperations } from './connector-oauth/connector-oauth.ts';
import { connectorProfileOperations } from './connector-profile/connector-profile.ts';
import { connectorTestOperations } from './connector-profile/connector-test.ts';
import { consumptionOperations } from './consumption/consumption.ts';
import { credentialOperations } from './credential/credential.ts';
import { customRoleOperations } from './custom-role/custom-role.ts';
import { directoryOperations } from './directory/directory.ts';
import { scimGroupOperations } from './directory/scim-group.ts';
import { scimServiceOperations } from './directory/scim-service.ts';
import { scimUserOperations } from './directory/scim-user.ts';
import { enterpriseOauthOperations } from './enterprise-oauth/enterprise-oauth.ts';
import { environmentOperations } from './environment/environment.ts';
import { gitDeliveryOperations } from './git-delivery/git-delivery.ts';
import { groupOperations } from './group/group.ts';
import { groupMemberOperations } from './group/group-member.ts';
import { lineageOperations } from './lineage/lineage.ts';
import { lineageGraphOperations } from './lineage/lineage-graph.ts';
import { personalTokenOperations } from './personal-token/personal-token.ts';
import { pipelineExecutionOperations } from './pipeline-execution/pipeline-execution.ts';
import { executionLogOperations } from './pipeline-execution/execution-log.ts';
import { executionRestartOperations } from './pipeline-execution/execution-restart.ts';
import { executionVariableOperations } from './pipeline-execution/execution-variable.ts';
import { projectTagOperations } from './project-tag/project-tag.ts';
import { projectOperations } from './project/project.ts';
import { repositoryMigrationOperations } from './repository-migration/repository-migration.ts';
import { repositoryOperations } from './repository/repository.ts';
import { repositoryBranchOperations } from './repository/repository-branch.ts';
import { repositoryCommitOperations } from './repository/repository-commit.ts';
import { repositoryFileOperations } from './repository/repository-file.ts';
import { reviewOperations } from './review/review.ts';
import { scheduleOperations } from './schedule/schedule.ts';
import { secretReferenceOperations } from './secret-reference/secret-reference.ts';
import { secretCheckOperations } from './secret-reference/secret-check.ts';
import { secretOperations } from './secret/secret.ts';
import { sharedPipelineOperations } from './shared-pipeline/shared-pipeline.ts';
import { identityIssuerOperations } from './sign-in/identity-issuer.ts';
import { invitationOperations } from './sign-in/invitation.ts';
import { passkeyOperations } from './sign-in/passkey.ts';
import { signInLinkOperations } from './sign-in/sign-in-link.ts';
import { signInSessionOperations } from './sign-in/sign-in-session.ts';
import { streamingPipelineOperations } from './streaming-pipeline/streaming-pipeline.ts';
import { testExecutionOperations } from './test-execution/test-execution.ts';
import { userOperations } from './user/user.ts';
import { userCredentialOperations } from './user/user-credential.ts';
import { variableOperations } from './variable/variable.ts';
import { overrideOperations } from './variable/override.ts';
import { warehouseQueryOperations } from './warehouse-query/warehouse-query.ts';
import { warehouseTableOperations } from './warehouse-table/warehouse-table.ts';
import { webhookOperations } from './webhook/webhook.ts';
import { webhookDeliveryOperations } from './webhook/webhook-delivery.ts';

export * from './access/access.ts';
export * from './access/access-review.ts';
export * from './account-event/account-event.ts';
export * from './agent-protocol/agent-protocol.ts';
export * from './agent-protocol/artifact-manifest.ts';
export * from './agent-protocol/canonical-manifest.ts';
export * from './agent-protocol/claim.ts';
export * from './agent-protocol/connector-work.ts';
export * from './agent-protocol/deleted-environments.ts';
export * from './agent-protocol/instance-certificate.ts';
export * from './agent-protocol/presence.ts';
export * from './agent-protocol/protocol-constants.ts';
export * from './agent-protocol/report.ts';
export * from './agent-protocol/run-lineage.ts';
export * from './agent-protocol/run-log.ts';
export * from './agent-protocol/run-members.ts';
export * from './agent-protocol/run-restart.ts';
export * from './agent-protocol/run-variables.ts';
export * from './agent-protocol/secret-lookup.ts';
export * from './agent-protocol/test-execution-work.ts';
export * from './agent-protocol/work.ts';
export * from './agent/agent.ts';
export * from './agent/agent-allowlist.ts';
export * from './agent/vault-access.ts';
export * from './ai-task-changes/ai-task-changes.ts';
export * from './ai-task/ai-task.ts';
export * from './ai-task/ai-agent-config.ts';
export * from './ai-task/ai-task-message.ts';
export * from './alert-rule/alert-rule.ts';
export * from './artifact/artifact.ts';
export * from './artifact/artifact-upload.ts';
export * from './artifact/asset-path.ts';
export * from './backfill/backfill.ts';
export * from './budget/budget.ts';
export * from './connection/connection.ts';
export * from './connection/connection-test.ts';
export * from './connection/data-platform-connection.ts';
export * from './connector-oauth/connector-oauth.ts';
export * from './connector-profile/connector-profile.ts';
export * from './connector-profile/connector-profile-shape.ts';
export * from './connector-profile/connector-test.ts';
export * from './consumption/consumption.ts';
export * from './credential/credential.ts';
export * from './custom-role/custom-role.ts';
export * from './directory/directory.ts';
export * from './directory/scim-error.ts';
export * from './directory/scim-group.ts';
export * from './directory/scim-requests.ts';
export * from './directory/scim-service.ts';
export * from './directory/scim-user.ts';
export * from './enterprise-oauth/enterprise-oauth.ts';
export * from './environment/environment.ts';
export * from './environment/environment-connection.ts';
export * from './git-delivery/git-delivery.ts';
export * from './group/group.ts';
export * from './group/group-member.ts';
export * from './lineage/lineage.ts';
export * from './lineage/lineage-graph.ts';
export * from './personal-token/personal-token.ts';
export * from './pipeline-execution/pipeline-execution.ts';
export * from './pipeline-execution/execution-log.ts';
export * from './pipeline-execution/execution-restart.ts';
export * from './pipeline-execution/execution-variable.ts';
export * from './project-tag/project-tag.ts';
export * from './project/project.ts';
export * from './repository-migration/repository-migration.ts';
export * from './repository/repository.ts';
export * from './repository/repository-branch.ts';
export * from './repository/repository-commit.ts';
export * from './repository/repository-file.ts';
export * from './repository/repository-problems.ts';
export * from './repository/repository-provider.ts';
export * from './repository/repository-shapes.ts';
export * from './review/review.ts';
export * from './schedule/schedule.ts';
export * from './secret-reference/secret-reference.ts';
export * from './secret-reference/secret-check.ts';
export * from './secret/secret.ts';
export * from './secret/sealed-constants.ts';
export * from './secret/sealed-header.ts';
export * from './secret/secret-value.ts';
export * from './shared-pipeline/shared-pipeline.ts';
export * from './sign-in/identity-issuer.ts';
export * from './sign-in/invitation.ts';
export * from './sign-in/passkey.ts';
export * from './sign-in/sign-in-link.ts';
export * from './sign-in/sign-in-session.ts';
export * from './streaming-pipeline/streaming-pipeline.ts';
export * from './streaming-pipeline/streaming-parts.ts';
export * from './streaming-pipeline/streaming-source.ts';
export * from './streaming-pipeline/streaming-target.ts';
export * from './test-execution/test-execution.ts';
export * from './user/user.ts';
export * from './user/user-credential.ts';
export * from './variable/variable.ts';
export * from './variable/override.ts';
export * from './variable/variable-value.ts';
export * from './warehouse-query/warehouse-query.ts';
export * from './warehouse-table/warehouse-table.ts';
export * from './warehouse-table/table-name.ts';
export * from './webhook/webhook.ts';
export * from './webhook/webhook-delivery.ts';

export const operationLists = [
  accessOperations,
  accessReviewOperations,
  accountEventOperations,
  agentProtocolOperations,
  agentOperations,
  agentAllowlistOperations,
  aiTaskChangesOperations,
  aiTaskOperations,
  aiTaskMessageOperations,
  alertRuleOperations,
  artifactOperations,
  artifactUploadOperations,
  backfillOperations,
  budgetOperations,
  connectionOperations,
  connectionTestOperations,
  dataPlatformConnectionOperations,
  connectorOauthOperations,
  connectorProfileOperations,
  connectorTestOperations,
  consumptionOperations,
  credentialOperations,
  customRoleOperations,
  directoryOperations,
  scimGroupOperations,
  scimServiceOperations,
  scimUserOperations,
  enterpriseOauthOperations,
  environmentOperations,
  gitDeliveryOperations,
  groupOperations,
  groupMemberOperations,
  lineageOperations,
  lineageGraphOperations,
  personalTokenOperations,
  pipelineExecutionOperations,
  executionLogOperations,
  executionRestartOperations,
  executionVariableOperations,
  projectTagOperations,
  projectOperations,
  repositoryMigrationOperations,
  repositoryOperations,
  repositoryBranchOperations,
  repositoryCommitOperations,
  repositoryFileOperations,
  reviewOperations,
  scheduleOperations,
  secretReferenceOperations,
  secretCheckOperations,
  secretOperations,
  sharedPipelineOperations,
  identityIssuerOperations,
  invitationOperations,
  passkeyOperations,
  signInLinkOperations,
  signInSessionOperations,
  streamingPipelineOperations,
  testExecutionOperations,
  userOperations,
  userCredentialOperations,
  variableOperations,
  overrideOperations,
  warehouseQueryOperations,
  warehouseTableOperations,
  webhookOperations,
  webhookDeliveryOperations,
] as const;
