import type { Slice } from '../../kernel/slice/slice.ts';
import { type ReviewServices, reviewRoutes } from './review.routes.ts';

export const reviews: Slice<ReviewServices> = { name: 'reviews', routes: reviewRoutes };
