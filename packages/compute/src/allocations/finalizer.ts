/** Keeps an allocation until everything that it had is in the hands of the platform. */
export const allocationFinalizer = 'compute.capstan.dev/bookings';
