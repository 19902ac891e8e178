/** The quality review of pipelines by rules. */
import { type Static, Type } from 'typebox';
import { AssetPath, assetNameLimitBytes } from '../artifact/asset-path.ts';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, Name, oneOf, VersionName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { BranchName } from '../repository/repository.ts';
import { gitReadProblems } from '../repository/repository-problems.ts';

/** Findings in one response. */
export const reviewAnswerLimit = 5_000;
/** Files in the body of one request, and paths to review. */
export const reviewedFilesLimit = 1_000;

export const qualityGates = ['NONE', 'WARN', 'REQUIRED'] as const;
export type QualityGate = (typeof qualityGates)[number];

/** Rules of a quality gate, and characters of all of them as JSON. */
export const qualityRulesLimit = 100;
export const qualityRulesCharacters = 16_384;
const wordOfRule = Type.String({ maxLength: 500 });
const RuleParameter = Type.Union([
  Type.Integer(),
  Type.Boolean(),
  wordOfRule,
  Type.Array(wordOfRule, { maxItems: 200 }),
]);

export const QualityRule = named(
  'QualityRule',
  Type.Object({
    id: Type.String({ minLength: 1, maxLength: 64, description: 'The id of the rule, such as select-star' }),
    enabled: Type.Optional(Type.Boolean({ description: 'By default true' })),
    enforcementLevel: Type.Optional(
      oneOf(['error', 'warn', 'info'], { description: 'By default the level of the rule' }),
    ),
    config: Type.Optional(
      Type.Unsafe<Record<string, Static<typeof RuleParameter>>>({
        type: 'object',
        propertyNames: { type: 'string', maxLength: 64 },
        additionalProperties: RuleParameter,
        maxProperties: 20,
        description: 'The parameters of the rule',
      }),
    ),
    expression: Type.Optional(
      Type.String({
        maxLength: 4_096,
        description: 'Of a rule of your own: JavaScript over the parsed pipeline',
      }),
    ),
    message: Type.Optional(Type.String({ maxLength: 500, description: 'Of a rule of your own' })),
  }),
);
export type QualityRule = Static<typeof QualityRule>;

const FixStep = Type.Object({
  op: oneOf(['remove', 'replace']),
  path: Type.String({ maxLength: 4_096, description: 'A JSON Pointer into the file as parsed from YAML' }),
  value: Type.Optional(Type.Unknown({ description: 'Of `replace`' })),
});

export const ReviewFinding = named(
  'ReviewFinding',
  Type.Object({
    rule: Type.String({ maxLength: 64, description: 'The id of the rule, such as select-star' }),
    level: oneOf(['ERROR', 'WARNING', 'INFO'], {
      description: 'A review with a finding of the level ERROR is FAILED',
    }),
    message: Type.String({ maxLength: 1_000, description: 'What was found, and what to do about it' }),
    component: Type.Optional(Name),
    line: Type.Integer({ minimum: 1 }),
    fix: Type.Optional(
      Type.Array(FixStep, {
        maxItems: 10,
        description: 'The steps of a JSON Patch (RFC 6902) that mend the file, if that is mechanical',
      }),
    ),
  }),
);
export type ReviewFinding = Static<typeof ReviewFinding>;

export const Review = named(
  'Review',
  Type.Object({
    reviewStatus: oneOf(['PASSED', 'FAILED']),
    results: Type.Unsafe<Record<string, ReviewFinding[]>>({
      type: 'object',
      maxProperties: reviewAnswerLimit,
      propertyNames: { maxLength: assetNameLimitBytes },
      additionalProperties: Type.Array(ReviewFinding, { maxItems: reviewAnswerLimit }),
      description: `The findings by the path of the pipeline; those about the rules file by its path. Errors come first where there are more than ${reviewAnswerLimit.toLocaleString('en')}`,
    }),
    findingsTotal: Type.Integer({ minimum: 0, description: 'The number of all findings' }),
    excludedFiles: Type.Array(AssetPath, {
      maxItems: reviewedFilesLimit,
      description: 'Those of `filePaths` that are no pipelines, or do not exist',
    }),
  }),
);
export type Review = Static<typeof Review>;

export const createReview = operation({
  id: 'createReview',
  method: 'POST',
  path: '/v1/projects/{projectId}/reviews',
  surface: 'dpc',
  tag: 'Quality review',
  summary: 'Review the quality of pipelines',
  description:
    'Applies the rules of the quality review to the pipelines of a version (`environmentName`, and `versionName`, by default the newest enabled version), ' +
    'of a branch (`branchName`, and `commitId`, by default its newest commit), or of `files` in the body. ' +
    'The rules file of the same files, `.matillion/config/pipeline_quality_rules.yaml` or `headgate-rules.yaml`, changes levels and parameters, and adds rules. ' +
    'Rules about several pipelines read all of them; `filePaths` limits only the response.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  body: Type.Object({
    environmentName: Type.Optional(EnvironmentName),
    versionName: Type.Optional(VersionName),
    branchName: Type.Optional(BranchName),
    commitId: Type.Optional(
      Type.String({
        maxLength: 64,
        pattern: '^[0-9a-fA-F]{4,64}$',
        'x-form': 'a commit id of 4 to 64 hexadecimal digits, such as 1a2b3c4d',
        description: 'A commit that a branch or tag of the repository contains; the first digits suffice',
      }),
    ),
    files: Type.Optional(
      Type.Array(Type.Object({ path: AssetPath, content: Type.String({ maxLength: 1_048_576 }) }), {
        minItems: 1,
        maxItems: reviewedFilesLimit,
        description: 'Files that are not published yet',
      }),
    ),
    filePaths: Type.Optional(
      Type.Array(AssetPath, {
        maxItems: reviewedFilesLimit,
        description: 'The pipelines whose findings the response has; by default all',
      }),
    ),
    dataWarehouseType: Type.Optional(
      Type.String({ maxLength: 50, description: 'The rules read the SQL of all warehouses alike' }),
    ),
  }),
  success: { status: 200, body: Review },
  problems: [
    'review-source',
    'review-too-large',
    'environment-not-found',
    'artifact-not-found',
    'revision-not-found',
    ...gitReadProblems,
  ],
  events: [],
  withoutEvent: 'It only reads.',
});

export const reviewOperations = [createReview] as const;
