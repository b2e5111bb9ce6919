/** Decides from everything that is known, and does what was decided, one step after the other. */
export interface StepWork<Scene, Step extends { readonly kind: string }> {
  scene(): Scene;
  perform(step: Exclude<Step, { readonly kind: 'wait' }>): Promise<void>;
}

interface StepsOptions<Scene, Step> {
  readonly decide: (scene: Scene) => Step;
  /** More than a reconcile can need: a decision that does not see its own effect must not go on for ever. */
  readonly most: number;
  /** For the error if there are more. */
  readonly subject: string;
}

/** Returns the step that waits; undefined if the object was let go, after which there is nothing to decide. */
export async function performSteps<Scene, Step extends { readonly kind: string }>(
  work: StepWork<Scene, Step>,
  { decide, most, subject }: StepsOptions<Scene, Step>,
): Promise<Extract<Step, { readonly kind: 'wait' }> | undefined> {
  for (let count = 0; count < most; count++) {
    const step = decide(work.scene());
    if (step.kind === 'wait') return step as Extract<Step, { readonly kind: 'wait' }>;
    await work.perform(step as Exclude<Step, { readonly kind: 'wait' }>);
    if (step.kind === 'letGo') return undefined;
  }
  throw new Error(`${subject} needs more than ${most} steps`);
}
