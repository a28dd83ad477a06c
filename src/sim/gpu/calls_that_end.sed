# Clang 14 says nothing where a call does not return, and the assembler takes it that what stands below comes next:
# then the ways that parted before such a call, though nobody goes it, meet again at the end of the function only,
# and threads of a warp go through the rest one after the other. So an exit follows each.
/^\t(strack_check_failed|_Z15strack_gpu_fail[A-Za-z]*|_ZSt[0-9]*__throw_[A-Za-z_]*), *$/,/callseq/ {
  /callseq/ a\
	exit;
}
