// Written by `npm run generate` from the folders of the resources. Do not edit it.
import { commonOutcomes } from './common.outcomes.ts';
import { accessOutcomes } from './access/access.outcomes.ts';
import { accountEventOutcomes } from './account-event/account-event.outcomes.ts';
import { agentProtocolOutcomes } from './agent-protocol/agent-protocol.outcomes.ts';
import { agentOutcomes } from './agent/agent.outcomes.ts';
import { aiTaskChangesOutcomes } from './ai-task-changes/ai-task-changes.outcomes.ts';
import { aiTaskOutcomes } from './ai-task/ai-task.outcomes.ts';
import { alertRuleOutcomes } from './alert-rule/alert-rule.outcomes.ts';
import { artifactOutcomes } from './artifact/artifact.outcomes.ts';
import { backfillOutcomes } from './backfill/backfill.outcomes.ts';
import { budgetOutcomes } from './budget/budget.outcomes.ts';
import { connectionOutcomes } from './connection/connection.outcomes.ts';
import { connectorOauthOutcomes } from './connector-oauth/connector-oauth.outcomes.ts';
import { connectorProfileOutcomes } from './connector-profile/connector-profile.outcomes.ts';
import { consumptionOutcomes } from './consumption/consumption.outcomes.ts';
import { credentialOutcomes } from './credential/credential.outcomes.ts';
import { customRoleOutcomes } from './custom-role/custom-role.outcomes.ts';
import { directoryOutcomes } from './directory/directory.outcomes.ts';
import { enterpriseOauthOutcomes } from './enterprise-oauth/enterprise-oauth.outcomes.ts';
import { environmentOutcomes } from './environment/environment.outcomes.ts';
import { gitDeliveryOutcomes } from './git-delivery/git-delivery.outcomes.ts';
import { gitOutcomes } from './git/git.outcomes.ts';
import { groupOutcomes } from './group/group.outcomes.ts';
import { hostedRepositoryOutcomes } from './hosted-repository/hosted-repository.outcomes.ts';
import { lineageOutcomes } from './lineage/lineage.outcomes.ts';
import { personalTokenOutcomes } from './personal-token/personal-token.outcomes.ts';
import { pipelineExecutionOutcomes } from './pipeline-execution/pipeline-execution.outcomes.ts';
import { projectTagOutcomes } from './project-tag/project-tag.outcomes.ts';
import { projectOutcomes } from './project/project.outcomes.ts';
import { repositoryMigrationOutcomes } from './repository-migration/repository-migration.outcomes.ts';
import { repositoryOutcomes } from './repository/repository.outcomes.ts';
import { reviewOutcomes } from './review/review.outcomes.ts';
import { scheduleOutcomes } from './schedule/schedule.outcomes.ts';
import { secretReferenceOutcomes } from './secret-reference/secret-reference.outcomes.ts';
import { secretOutcomes } from './secret/secret.outcomes.ts';
import { sharedPipelineOutcomes } from './shared-pipeline/shared-pipeline.outcomes.ts';
import { signInOutcomes } from './sign-in/sign-in.outcomes.ts';
import { streamingPipelineOutcomes } from './streaming-pipeline/streaming-pipeline.outcomes.ts';
import { testExecutionOutcomes } from './test-execution/test-execution.outcomes.ts';
import { userOutcomes } from './user/user.outcomes.ts';
import { variableOutcomes } from './variable/variable.outcomes.ts';
import { warehouseQueryOutcomes } from './warehouse-query/warehouse-query.outcomes.ts';
import { warehouseTableOutcomes } from './warehouse-table/warehouse-table.outcomes.ts';
import { webhookOutcomes } from './webhook/webhook.outcomes.ts';

export const outcomeLists = [
  commonOutcomes,
  accessOutcomes,
  accountEventOutcomes,
  agentProtocolOutcomes,
  agentOutcomes,
  aiTaskChangesOutcomes,
  aiTaskOutcomes,
  alertRuleOutcomes,
  artifactOutcomes,
  backfillOutcomes,
  budgetOutcomes,
  connectionOutcomes,
  connectorOauthOutcomes,
  connectorProfileOutcomes,
  consumptionOutcomes,
  credentialOutcomes,
  customRoleOutcomes,
  directoryOutcomes,
  enterpriseOauthOutcomes,
  environmentOutcomes,
  gitDeliveryOutcomes,
  gitOutcomes,
  groupOutcomes,
  hostedRepositoryOutcomes,
  lineageOutcomes,
  personalTokenOutcomes,
  pipelineExecutionOutcomes,
  projectTagOutcomes,
  projectOutcomes,
  repositoryMigrationOutcomes,
  repositoryOutcomes,
  reviewOutcomes,
  scheduleOutcomes,
  secretReferenceOutcomes,
  secretOutcomes,
  sharedPipelineOutcomes,
  signInOutcomes,
  streamingPipelineOutcomes,
  testExecutionOutcomes,
  userOutcomes,
  variableOutcomes,
  warehouseQueryOutcomes,
  warehouseTableOutcomes,
  webhookOutcomes,
] as const;
