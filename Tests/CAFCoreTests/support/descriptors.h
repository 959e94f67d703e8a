/** A process that has no free descriptor for a while. */
#ifndef AFC_TESTS_DESCRIPTORS_H
#define AFC_TESTS_DESCRIPTORS_H

/** Lets no file, folder or socket be opened: that fails with EMFILE. Open ones can be used. */
void descriptors_deny(void);

void descriptors_allow(void);

#endif
